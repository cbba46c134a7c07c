"""Logging in and out, and looking after one's own account."""

from typing import Any

from marshmallow import fields

from blueprints import Call, Email, Line, Problem, Routes, StrictSchema, Text
from models.base import Rows
from models.session import Session, revoke
from models.user import User

from .http import login, passwords
from .users import UserSchema

routes = Routes("session", "Log in and out, and look after one's own account.")


class LoginSchema(StrictSchema):
    email = fields.String(required=True)
    password = Text(required=True, maximum=passwords.LONGEST)


class TokenSchema(StrictSchema):
    access_token = fields.String(required=True)
    token_type = fields.String(required=True)
    expires_in = fields.Integer(required=True, metadata={"description": "Seconds."})
    refresh_token = fields.String(required=True)
    scope = fields.String(required=True)


class LogoutSchema(StrictSchema):
    all = fields.Boolean(load_default=False)


class ProfileSchema(StrictSchema):
    name = Line()
    email = Email()


@routes.post("/api/login", permission="session.create", body=LoginSchema(), answer=TokenSchema(), writes=False)
def log_in(call: Call) -> dict[str, Any]:
    """Exchange e-mail and password for tokens."""
    # No transaction yet: a password takes milliseconds to check, and a writer would keep all others waiting.
    user = User.by_email(call.body["email"])
    right = passwords.verify(call.body["password"], None if user is None else user.password_hash)
    if user is None or not right or not user.active:
        raise Problem("invalid_credentials", "E-mail or password is wrong.")
    found = user
    return call.services.database.transact(lambda: login.open_session(call, found))


@routes.post("/api/logout", permission="profile.update", body=LogoutSchema(), body_required=False, status=204)
def log_out(call: Call) -> None:
    """End this session, or all sessions of the caller."""
    mine = Session.user_id == call.principal.id
    revoke(call.tenant_id, mine if call.body["all"] else mine & (Session.id == call.session_id))


@routes.get("/api/profile", permission="profile.view", answer=UserSchema())
def profile(call: Call) -> dict[str, Any]:
    """The caller's own account, in full."""
    return _shown(call, _me(call))


@routes.patch("/api/profile", permission="profile.update", body=ProfileSchema(), answer=UserSchema())
def change_profile(call: Call) -> dict[str, Any]:
    """Change one's own name or e-mail address."""
    user = _me(call)
    for name, value in call.body.items():
        setattr(user, name, value)
    Rows(User, call.tenant_id).save(user)
    return _shown(call, user)


def _me(call: Call) -> User:
    user = Rows(User, call.tenant_id).find(call.principal.id or "", lock=call.endpoint.writes)
    if user is None:
        raise Problem("not_found")
    return user


def _shown(call: Call, user: User) -> dict[str, Any]:
    representation = call.services.collections["users"].representation
    return representation.encode(dict(user.__data__), representation.names)
