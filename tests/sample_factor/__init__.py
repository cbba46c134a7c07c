"""A plugin with a second factor: attributes of the caller, a step in the login, and the endpoint that completes it.

Every user named `Two …` has the code 4711. Programs may have a badge, which is a bearer token.
"""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from blueprints.sessions.login import TokenSchema
from gatepost import (
    BearerToken,
    Call,
    CallerAttribute,
    Fault,
    Feature,
    Problem,
    Routes,
    Services,
    StrictSchema,
    ask_next_steps,
    new_id,
    open_session,
)
from models.records.times import elapsed, now
from models.tables.session import Session
from models.tables.user import User

CODE = "4711"
routes = Routes("factor", "A second factor.")


class Challenges(dict[str, str]):
    """Users whose password was right, by challenge."""


def next_step(call: Call, user: User) -> None:
    """Asks users with a second factor for its code."""
    if not user.name.startswith("Two ") or (call.login or {}).get("mfa"):
        return
    challenge = new_id()
    call.services.feature("factor")[challenge] = user.id
    if call.request.path.startswith("/console"):
        raise Problem("login_incomplete", "Enter the code.", headers={"Location": f"/console/code/{challenge}"})
    raise Problem("login_incomplete", "Send the code.", [
        Fault("login_incomplete", "Send the code.", meta={"challenge": challenge})])


def drop_challenges(call: Call, user: User) -> list[str]:
    """Removes the challenges of a user who takes an account over."""
    challenges = call.services.feature("factor")
    mine = [challenge for challenge, id in challenges.items() if id == user.id]
    for challenge in mine:
        del challenges[challenge]
    return [f"challenges ({len(mine)})"] if mine else []


class CodeSchema(StrictSchema):
    challenge = fields.String(required=True)
    code = fields.String(required=True)


def check(call: Call) -> None:
    """Checks the code, before the transaction."""
    user_id = call.services.feature("factor").get(call.body["challenge"])
    if user_id is None or call.body["code"] != CODE:
        raise Problem("invalid_credentials", "The code is wrong.")
    with call.services.database.connected():
        user = User.by_id(user_id)
    if user is not None:
        ask_next_steps(call, user, {"mfa": True})
    call.prepared = user_id


@routes.post("/api/login/code", permission="session.create", body=CodeSchema(), answer=TokenSchema(), secret=True,
             prepare=check)
def complete(call: Call) -> dict[str, Any]:
    """Complete a login with the code."""
    user = User.by_id(call.prepared)
    if user is None or not user.active:
        raise Problem("invalid_credentials", "The code is wrong.")
    return open_session(call, user, {"mfa": True})


@routes.post("/api/factor/lamps", permission="stats.view", answer=StrictSchema())
def lamps(call: Call) -> dict[str, Any]:
    """Ask for a permission about other rows than those of the endpoint."""
    call.access.require("product.create")
    return {}


def bearer(services: Services, token: str) -> BearerToken | None:
    """Accepts `badge/<id of a user>/<scopes>/<when it ends>`."""
    parts = token.split("/")
    if parts[0] != "badge" or len(parts) != 4:
        return None
    if not parts[2]:
        raise Problem("invalid_token", "The badge is broken.")
    if parts[3] <= now():
        raise Problem("token_expired", "The badge has expired.")
    return BearerToken(parts[1], parts[2].split("+"), "badges for the door")


def has_second_factor(session: Session) -> bool:
    return bool((session.login or {}).get("mfa"))


def age(session: Session) -> int:
    return max(0, int(elapsed(session.created_at, now())))


feature = Feature(
    name="factor", extends={"console": "tests.sample_factor.pages"},
    make=lambda services: Challenges(), next_step=next_step, bearer=bearer, departure=lambda services: None,
    drop_credentials=drop_challenges,
    caller={
        "mfa": CallerAttribute(bool, has_second_factor, True, lambda value: 'acr_values="mfa"'),
        "auth_age": CallerAttribute(int, age, 0, lambda seconds: f'max_age="{seconds}"', least=0),
    })
