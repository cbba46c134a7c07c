"""Endpoints: the identities of an account, and the logout that a provider requests (Back-Channel Logout)."""

from __future__ import annotations

from time import time
from typing import Any

from flask import Request, Response
from marshmallow import fields

from gatepost import Call, Id, Problem, Routes, Rows, StrictSchema, Text, Time, later
from gatepost.collections.asking import sent_instead
from gatepost.http.request.identity import hashed
from gatepost.http.security.passwords import UNUSABLE
from models.engine.errors import AlreadyExists
from models.tables.identity import Identity, identities_of
from models.tables.provider_message import ProviderMessage
from models.tables.user import User
from settings import Settings

from . import configured, groups, tokens
from .flow import START
from .identities import end_sessions, issuer_of, talking

routes = Routes("identity", "Identities at providers, with which users log in.")
calls_of_providers = Routes("provider_logout", "Calls of identity providers.", when=configured.is_on)

BACKCHANNEL = f"{START}/backchannel"
_JTI = 3600.0  # seconds that a logout token is remembered: longer than one is accepted
_LARGEST = 2**17  # bytes of a logout token


class IdentitySchema(StrictSchema):
    id = Id(dump_only=True)
    provider = fields.String(dump_only=True, allow_none=True, metadata={
        "description": "The provider's name in the settings; null if it is no longer there."})
    issuer = fields.String(dump_only=True)
    subject = fields.String(dump_only=True, metadata={"description": "The provider's id of the user."})
    created_at = Time(dump_only=True)
    last_used_at = Time(dump_only=True, allow_none=True)


class IdentitiesSchema(StrictSchema):
    data = fields.List(fields.Nested(IdentitySchema), dump_only=True)


class LogoutTokenSchema(StrictSchema):
    logout_token = Text(required=True, maximum=2**16)


def _own_account(call: Call) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "", lock=call.endpoint.writes)


def _account(call: Call) -> User | None:
    user: User | None = call.services.collections["users"].load_record(call)  # type: ignore[attr-defined]
    return user


def _shown(settings: Settings, user: User) -> dict[str, Any]:
    names = {provider.issuer: provider.name for provider in configured.providers(settings).values()}
    return {"data": [{"id": identity.id, "provider": names.get(identity.issuer), "issuer": identity.issuer,
                      "subject": identity.subject, "created_at": identity.created_at,
                      "last_used_at": identity.last_used_at} for identity in identities_of(user)]}


@routes.get("/api/profile/identities", permission="profile.view", answer=IdentitiesSchema(), load=_own_account,
            operation="profile_list_identities")
def own(call: Call) -> dict[str, Any]:
    """List the caller's identities at providers."""
    return _shown(call.services.settings, call.row)


@routes.get("/api/users/<id>/identities", permission="user.view", answer=IdentitiesSchema(), load=_account,
            operation="users_list_identities")
def of_user(call: Call) -> dict[str, Any]:
    """List a user's identities at providers, for callers who may see the user's e-mail address."""
    call.access.require("user.view_private", call.facts)
    return _shown(call.services.settings, call.row)


@routes.delete("/api/profile/identities/<identity>", permission="profile.update", problems=(404, 409),
               load=_own_account, recorded="profile.disconnect", operation="profile_disconnect")
def disconnect(call: Call) -> None:
    """Disconnect an identity: nobody logs in with it any more, and sessions that it opened end."""
    user: User = call.row
    identities = {identity.id: identity for identity in identities_of(user)}
    identity = identities.pop(call.path["identity"], None)
    if identity is None:
        raise Problem("not_found")
    if user.password_hash == UNUSABLE and not identities:
        raise Problem("conflict", "This is your only way to log in. Choose a password first.")
    Rows(Identity, user.tenant_id).delete(identity)
    for provider in configured.providers(call.services.settings).values():
        if provider.issuer == identity.issuer:
            end_sessions(user, {"issuer": provider.name}, but=call.session_id)
            groups.remove(user, provider, call.access.policy.roles)


def _read_token(request: Request) -> Request:
    """Returns a form as JSON. Other fields are ignored, as the specification demands."""
    body = {name: sent[0] for name in ("logout_token",) if len(sent := request.form.getlist(name)) == 1}
    return sent_instead(request, "POST", None, body)


def _check_token(call: Call) -> None:
    issuer = issuer_of(call)
    try:
        with talking(call, issuer):
            call.prepared = tokens.logout_token(issuer, call.body["logout_token"], time())
    except Problem as problem:
        raise Problem("invalid_body", problem.detail) from None


@calls_of_providers.post(BACKCHANNEL, public="the logout token of the provider is the credential",
                         body=LogoutTokenSchema(), read_form=_read_token, anonymous=True, secret=True,
                         prepare=_check_token, documented=False, recorded="session.end_by_provider",
                         largest_body=_LARGEST, cost=10)
def log_out(call: Call) -> Response:
    """End the sessions that a provider's logout token names."""
    issuer, claims = issuer_of(call), call.prepared
    name, iss = issuer.provider.name, issuer.provider.issuer
    message = ProviderMessage(issuer=iss, hash=hashed(f"jti {iss} {claims['jti']}"), expires_at=later(_JTI))
    try:
        call.services.database.attempt(lambda: Rows(ProviderMessage, call.tenant_id).insert(message))
    except AlreadyExists:
        raise Problem("invalid_body", "This logout token was used before.") from None
    ended, sid, sub = 0, claims.get("sid"), claims.get("sub")
    identity = None if sub is None else Identity.find(iss, sub)
    if sid is not None and (owners := ProviderMessage.owners(iss, sid)):
        for owner in owners:
            if (user := User.by_id(owner)) is not None and (identity is None or identity.owner_id == user.id):
                ended += end_sessions(user, {"issuer": name, "sid": sid})
    elif identity is not None and (user := User.by_id(identity.owner_id)) is not None:
        ended += end_sessions(user, {"issuer": name})
    call.write.note = f"{name} ended {ended} sessions"
    return Response(status=200, headers={"Cache-Control": "no-store"})
