"""A plugin whose step in the login asks users named `Terms …` to agree to something, beside other steps."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from blueprints.sessions.login import TokenSchema
from gatepost import Call, Fault, Feature, Problem, Routes, StrictSchema, ask_next_steps, new_id, open_session
from models.tables.user import User

routes = Routes("terms", "Terms to agree to.")
PAGE = "/console/terms"


class Challenges(dict[str, tuple[str, dict[str, Any]]]):
    """Users who logged in otherwise, and what is known of their login, by challenge."""


def next_step(call: Call, user: User) -> None:
    """Asks users to agree, unless they just did."""
    if not user.name.startswith("Terms ") or (call.login or {}).get("terms"):
        return
    challenge = new_id()
    call.services.feature("terms")[challenge] = user.id, dict(call.login or {})
    if call.request.path.startswith("/console"):
        raise Problem("login_incomplete", "Agree.", headers={"Location": f"{PAGE}/{challenge}"})
    raise Problem("login_incomplete", "Agree.", [
        Fault("login_incomplete", "Agree.", meta={"terms": challenge})])


class AgreeSchema(StrictSchema):
    challenge = fields.String(required=True)


def check(call: Call) -> None:
    """Asks for further steps, before the transaction."""
    user_id, login = call.services.feature("terms").pop(call.body["challenge"], ("", {}))
    with call.services.database.connected():
        user = User.by_id(user_id)
    if user is None:
        raise Problem("invalid_credentials", "Log in again.")
    login = {**login, "terms": True}
    ask_next_steps(call, user, login)
    call.prepared = user, login


@routes.post("/api/login/terms", permission="session.create", body=AgreeSchema(), answer=TokenSchema(), secret=True,
             prepare=check)
def agree(call: Call) -> dict[str, Any]:
    """Complete the login by agreeing."""
    return open_session(call, *call.prepared)


feature = Feature(name="terms", make=lambda services: Challenges(), next_step=next_step)
