"""Endpoints: create a link for a user, and choose a password with its token."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from gatepost import Call, Routes, StrictSchema, Text, Time
from gatepost.http.security import passwords
from models.tables.user import User

from . import links

routes = Routes("password_link", "One-time links with which users choose a password.")

_LARGEST_BODY = 32 * 2**10  # bytes of a guest's body
_LONGEST_TOKEN = 200


class PasswordLinkSchema(StrictSchema):
    """A new link. It is answered only now, because its token is stored as a hash."""

    link = fields.String(required=True, allow_none=True, metadata={
        "description": "The page on which the user chooses a password: below the setting public_url, or the path alone "
                       "without it. Null if the console is not served."})
    token = fields.String(required=True, metadata={
        "description": "The token of the link, for POST /api/password-links."})
    expires_at = Time(required=True)


class PasswordChoiceSchema(StrictSchema):
    token = Text(required=True, maximum=_LONGEST_TOKEN)
    new_password = Text(required=True, maximum=passwords.LONGEST, metadata={"example": "nine slow ferries"})


def _account(call: Call) -> User | None:
    user: User | None = call.services.collections["users"].load_record(call)  # type: ignore[attr-defined]
    return user


@routes.post("/api/users/<id>/password-link", permission="user.create_password_link", answer=PasswordLinkSchema(),
             status=201, secret=True, load=_account, rules=links.rules, operation="users_create_password_link")
def create(call: Call) -> dict[str, Any]:
    """Create a link with which the user chooses a password: it replaces an earlier one, and is valid once."""
    settings = call.services.settings
    token, expires_at = links.make(settings, call.row, maker_id=call.principal.id)
    call.headers["Cache-Control"] = "no-store"
    shown = links.url(settings, token, call.request) if links.PAGE in call.services.registry.paths else None
    return {"link": shown, "token": token, "expires_at": expires_at}


def _prepare(call: Call) -> None:
    call.prepared = links.prepare(call, call.body["token"], call.body["new_password"])


@routes.post("/api/password-links", public="the token of the link is the credential", body=PasswordChoiceSchema(),
             status=204, secret=True, tight=True, problems=(404,), prepare=_prepare,
             recorded="user.use_password_link", largest_body=_LARGEST_BODY, operation="password_link_use")
def use(call: Call) -> None:
    """Choose a password with the token of a link: all sessions end, and the user logs in with the new password."""
    links.use(call, call.body["token"], call.prepared)
