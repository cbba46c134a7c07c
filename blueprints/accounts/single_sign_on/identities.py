"""A login with a provider, from the code to the session: exchange, check, find or create the user, start.

The network is asked before the transaction, which then claims nothing that it has not seen itself: the identity, the
user, and that the code has not come again meanwhile. A code counts once. If it comes again, the session that it opened
ends, too, because somebody else has the code (RFC 9700 section 4.5).
"""

from __future__ import annotations

import logging
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import time
from typing import Any
from urllib.parse import quote_plus

from marshmallow import ValidationError

from gatepost import Call, Email, Message, Name, Problem, Rows, ask_next_steps, later, now
from gatepost.http.credentials import console_sessions
from gatepost.http.pipeline.limiting import count_for_the_day
from gatepost.http.request.identity import hashed
from gatepost.http.security.passwords import UNUSABLE
from models.engine.database import Database
from models.engine.errors import AlreadyExists
from models.tables.audit import add
from models.tables.identity import Identity
from models.tables.login_challenge import LoginChallenge
from models.tables.provider_message import ProviderMessage
from models.tables.session import Session, revoke
from models.tables.user import User
from policies.syntax.roles import Roles
from settings.providers import Provider

from . import connection, groups, tokens
from .connection import ProviderError
from .flow import Flow, Pending, redirect_uri
from .issuers import Issuer, Issuers
from .tokens import Refused

log = logging.getLogger("gatepost.single_sign_on")

BEGIN_AGAIN = Message("This login did not begin in this browser, or it began more than ten minutes ago. Begin again.")
DISABLED = Message("This account is disabled. Ask an administrator.")
USED = Message("This login was used before. To be safe, the session that it opened was ended. Log in again.")
CONNECT = "/console/account/identities/connect"
_CLAIMED = 3600.0  # seconds that a code is remembered whose login was not completed
_HOUR = 3600.0
_PROFILE = ("email", "email_verified", "name", "preferred_username")


@dataclass(frozen=True)
class Ready:
    """A login whose ID token was checked.

    login    what the session notes of it
    profile  claims from which an account is found or created; None: the identity must be known
    owner    the user as they were before the transaction; None: there was none
    """

    provider: Provider
    claims: Mapping[str, Any]
    login: dict[str, Any] = field(default_factory=dict)
    profile: Mapping[str, Any] | None = None
    owner: User | None = None


def issuer_of(call: Call) -> Issuer:
    """Returns the provider in the path. Raises `Problem` (`not_found`)."""
    issuer = _issuers(call).get(call.path["provider"])
    if issuer is None:
        raise Problem("not_found")
    return issuer


@contextmanager
def talking(call: Call, issuer: Issuer) -> Iterator[None]:
    """Runs requests to a provider. Raises `Problem` for their errors, and if too many threads wait for providers."""
    busy = _issuers(call).busy
    if not busy.acquire(blocking=False):
        raise Problem("forbidden", "Too many logins at once. Try again in a moment.", headers={"Retry-After": "5"})
    try:
        yield
    except ProviderError as error:
        raise failed(issuer.provider, str(error), Message(
            "{provider} cannot be reached, or gives an answer that cannot be used. Try again in a moment, or log in "
            "with your password.", provider=issuer.provider.title)) from None
    except Refused as error:
        raise failed(issuer.provider, str(error)) from None
    finally:
        busy.release()


def _issuers(call: Call) -> Issuers:
    issuers = call.services.feature("accounts")
    assert isinstance(issuers, Issuers)
    return issuers


def failed(provider: Provider, reason: str, text: Message | None = None) -> Problem:
    """Returns the refusal of a login. The operator finds the reason in the log."""
    log.warning("a login with %s was refused: %s", provider.name, reason)
    return Problem("forbidden", text or Message(
        "{provider} did not complete the login. Begin again. If that does not help, ask an administrator: the log "
        "of the service has the reason.", provider=provider.title))


def flow_of(call: Call, provider: Provider) -> Flow:
    """Returns the login that this browser has begun with the provider. Raises `Problem`."""
    flow = Flow.sent(call.services, call.request)
    if flow is None or flow.provider != provider.name:
        raise Problem("forbidden", BEGIN_AGAIN)
    return flow


def claim(database: Database, tenant_id: str, issuer: Issuer, code: str, flow: Flow) -> str:
    """Claims a code, which counts once, and returns the id of its row. Raises `Problem` if it has come before."""
    provider = issuer.provider
    code_hash, flow_hash = hashed(f"code {provider.issuer} {code}"), hashed(f"flow {flow.secret}")
    message = ProviderMessage(issuer=provider.issuer, hash=code_hash, flow_hash=flow_hash, expires_at=later(_CLAIMED))
    try:
        return database.transact(lambda: Rows(ProviderMessage, tenant_id).insert(message)).id
    except AlreadyExists:
        database.transact(lambda: _end_both(code_hash, flow_hash))
        raise failed(provider, "its code or its state was used before", USED) from None


def _end_both(code_hash: str, flow_hash: str) -> None:
    for message in ProviderMessage.same(code_hash, flow_hash):
        message.reused = True
        Rows(ProviderMessage, message.tenant_id).save(message)
        user = None if message.owner_id is None else User.by_id(message.owner_id)
        if user is not None:
            end_sessions(user, {"message": message.id})


def exchanged(call: Call, issuer: Issuer, code: str, flow: Flow) -> tuple[dict[str, Any], str]:
    """Exchanges a code. Returns the claims of the ID token, and the access token. Raises `ProviderError`, `Refused`."""
    provider, metadata = issuer.provider, issuer.metadata()
    values = {"grant_type": "authorization_code", "code": code, "code_verifier": flow.verifier,
              "redirect_uri": redirect_uri(call.services.settings, provider)}
    headers: dict[str, str] = {}
    if provider.client_secret and metadata.takes_basic:
        pair = f"{quote_plus(provider.client_id)}:{quote_plus(provider.client_secret)}"  # RFC 6749 section 2.3.1
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
    else:
        values["client_id"] = provider.client_id
        if provider.client_secret:
            values["client_secret"] = provider.client_secret
    answer = connection.post(provider, metadata.token_endpoint, values, headers)
    access_token = answer.get("access_token")
    claims = tokens.id_token(issuer, answer.get("id_token"), flow.nonce, access_token)
    return claims, access_token if isinstance(access_token, str) and access_token.isascii() else ""


def with_profile(issuer: Issuer, claims: Mapping[str, Any], access_token: str) -> dict[str, Any]:
    """Returns the claims with the profile of the userinfo endpoint, for providers whose ID token has no e-mail address.

    Raises `ProviderError`, `Refused`.
    """
    endpoint = issuer.metadata().userinfo_endpoint
    if "email" in claims or "email" not in issuer.provider.scopes or endpoint is None or not access_token:
        return dict(claims)
    profile = connection.get(issuer.provider, endpoint, access_token)
    if profile.get("sub") != claims["sub"]:
        raise Refused("the profile is of another user")
    return {**claims, **{name: profile[name] for name in _PROFILE if name in profile}}


def noted(provider: Provider, claims: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the session notes of a login."""
    login: dict[str, Any] = {"issuer": provider.name, "until": later(provider.session_hours * _HOUR)}
    methods, sid, at = claims.get("amr"), claims.get("sid"), claims.get("auth_time")
    if isinstance(sid, str) and 0 < len(sid) <= 255:
        login["sid"] = sid
    if (isinstance(methods, list) and "mfa" in methods) or (
            isinstance(claims.get("acr"), str) and claims["acr"] in provider.mfa_acr):
        login["mfa"] = True
    if isinstance(at, int | float) and at >= 0:
        login["since"] = later(min(0.0, at - time()))
    return login


def prepare(call: Call) -> None:
    """Checks a login that a provider sends back, before the transaction. Raises `Problem` for every failure.

    Sets `call.prepared` to a `Ready`.
    """
    issuer = issuer_of(call)
    provider, services, body = issuer.provider, call.services, call.body
    flow = flow_of(call, provider)
    if not tokens.equal(body["state"], flow.state):
        raise failed(provider, "the state is of another login", BEGIN_AGAIN)
    with talking(call, issuer):
        _check_issuer(issuer, body.get("iss"))
        message_id = claim(services.database, call.tenant_id, issuer, body["code"], flow)
        claims, access_token = exchanged(call, issuer, body["code"], flow)
        with services.database.connected():
            identity = Identity.find(provider.issuer, claims["sub"])
            user = None if identity is None else User.by_id(identity.owner_id)
        profile = None if user is not None else with_profile(issuer, claims, access_token)
    login = {**noted(provider, claims), "message": message_id}
    if flow.connects:
        raise to_connect(call, provider, profile or dict(claims), CONNECT)
    if user is None:
        user = _account(call, provider, profile or {})
    if user is None:
        _require_new(call, provider, profile or {})
        call.prepared = Ready(provider, claims, login, profile)
        return
    if not user.active:
        raise failed(provider, "the account is disabled", DISABLED)
    if services.next_steps:
        owner = user
        services.database.transact(lambda: _attach(login, owner))  # a next step opens the session elsewhere
        roles, is_known = call.access.policy.roles, identity is not None
        user = services.database.transact(lambda: _with_groups(owner, provider, claims, roles, is_known))
        ask_next_steps(call, user, login)
    call.prepared = Ready(provider, claims, login, profile, user)


def start(call: Call) -> None:
    """Opens the session in a transaction. Raises `Problem`."""
    ready: Ready = call.prepared
    provider, roles = ready.provider, call.access.policy.roles
    groups.lock_before(ready.owner, provider, roles)
    identity = Identity.find(provider.issuer, ready.claims["sub"], lock=True)
    user = _new(call, ready) if identity is None else Rows(User, identity.tenant_id).find(identity.owner_id, lock=True)
    if user is None or not user.active:
        raise failed(provider, "the account is disabled", DISABLED)
    if identity is not None:
        identity.last_used_at = now()
        Rows(Identity, identity.tenant_id).save(identity)
    if not _attach(ready.login, user):
        raise failed(provider, "its code was used twice", USED)
    groups.refresh(user, provider, ready.claims, roles)
    console_sessions.start(call, user, ready.login)
    call.write.note = f"with {provider.name}"


def _with_groups(user: User, provider: Provider, claims: Mapping[str, Any], roles: Roles, is_known: bool) -> User:
    """Returns the user as stored, with groups and role of the login.

    Raises `Problem` for a disabled user, and if an identity that was known is no longer that of the user.
    """
    groups.lock_before(user, provider, roles)
    identity = Identity.find(provider.issuer, claims["sub"], lock=True)
    if (None if identity is None else identity.owner_id) != (user.id if is_known else None):
        raise failed(provider, "the identity was connected or disconnected meanwhile", BEGIN_AGAIN)
    stored = Rows(User, user.tenant_id).find(user.id, lock=True)
    if stored is None or not stored.active:
        raise failed(provider, "the account is disabled", DISABLED)
    groups.refresh(stored, provider, claims, roles)
    return stored


def _attach(login: Mapping[str, Any], user: User) -> bool:
    """Notes in the row of the code whose login it is. Returns False if the code has come again meanwhile."""
    message = ProviderMessage.by_id(login["message"])
    if message is None or message.reused:
        return False
    message.owner_id, message.sid, message.expires_at = user.id, login.get("sid"), login["until"]
    Rows(ProviderMessage, message.tenant_id).save(message)
    return True


def connect(user: User, provider: Provider, subject: str) -> Identity:
    """Connects an identity to a user, in a transaction. Raises `AlreadyExists`."""
    identity = Identity(owner_id=user.id, issuer=provider.issuer, subject=subject)
    return Rows(Identity, user.tenant_id).insert(identity)


def to_connect(call: Call, provider: Provider, profile: dict[str, Any], location: str) -> Problem:
    """Returns the refusal that leads to the page on which a user connects the identity to their account."""
    pending = Pending.of(provider.name, profile)
    return Problem("login_incomplete", Message("This login with {provider} is not connected to an account here.",
                                               provider=provider.title),
                   headers={"Set-Cookie": pending.cookie(call.services, call.request), "Location": location})


def end_sessions(owner: User, notes: Mapping[str, str], *, but: str | None = None) -> int:
    """Ends the sessions of a user whose login has these notes, except `but`. Returns their number.

    Logins with these notes that wait for a code end first: one that is completed meanwhile is a session afterwards.
    """
    waiting = Rows(LoginChallenge, owner.tenant_id)
    begun = waiting.select(LoginChallenge.id, LoginChallenge.login).where(LoginChallenge.owner_id == owner.id)
    if ids := [challenge.id for challenge in begun if notes.items() <= (challenge.login or {}).items()]:
        waiting.remove(LoginChallenge.id.in_(ids))
    rows = Rows(Session, owner.tenant_id)
    opened = rows.select(Session.id, Session.login).where(
        Session.owner_id == owner.id, Session.revoked_at.is_null(), Session.login.is_null(False))
    chosen = [session.id for session in opened if notes.items() <= (session.login or {}).items() and session.id != but]
    return revoke(owner.tenant_id, Session.id.in_(chosen)) if chosen else 0


def _check_issuer(issuer: Issuer, iss: str | None) -> None:
    """Checks `iss` of the answer (RFC 9207), against an answer of one provider that another one sends."""
    if iss is None and not issuer.metadata().announces_iss:
        return
    if iss != issuer.provider.issuer:
        raise Refused("the answer is of another issuer, or does not say of which")


def _account(call: Call, provider: Provider, profile: Mapping[str, Any]) -> User | None:
    """Returns the user with the same address, if both the provider and a link have verified it; else None.

    Otherwise a stranger could open an account with the address of another person, and wait.
    """
    email = _address(provider, profile)
    if email is None:
        return None
    with call.services.database.connected():
        user = User.by_email(email)
    return user if user is not None and user.email_verified_at is not None else None


def _require_new(call: Call, provider: Provider, profile: Mapping[str, Any]) -> None:
    """Raises `Problem` unless an account is created for this identity."""
    if not provider.create_users or (email := _address(provider, profile)) is None:
        raise to_connect(call, provider, dict(profile), "")
    with call.services.database.connected():
        has_account = User.by_email(email) is not None
    if has_account:
        raise to_connect(call, provider, dict(profile), "")
    if provider.role not in call.access.policy.roles.of_users:
        raise failed(provider, f"the policy has no role {provider.role!r} for users: see oidc.{provider.name}.role")
    count_for_the_day(call, "register")


def _address(provider: Provider, profile: Mapping[str, Any]) -> str | None:
    """Returns the verified e-mail address of a new account; None if there is none, or if its domain is not allowed."""
    verified = profile.get("email_verified")
    if verified is not True and verified != "true" and not provider.trust_email:
        return None
    try:
        email = Email().deserialize(profile.get("email"))
    except ValidationError:
        return None
    assert email is not None
    domain = email.rpartition("@")[2].lower()
    return email if not provider.domains or domain in provider.domains else None


def _name(profile: Mapping[str, Any], email: str) -> str:
    for name in (profile.get("name"), profile.get("preferred_username"), email.partition("@")[0]):
        try:
            return str(Name().deserialize(name))
        except ValidationError:
            continue
    return "user"


def _new(call: Call, ready: Ready) -> User | None:
    """Connects the identity to the account with its address, or to a new one. Returns None if there is neither."""
    profile = ready.profile
    if profile is None:
        return None
    user, action = _account(call, ready.provider, profile), "connect"
    if user is None:
        user, action = _create(call, ready.provider, profile), "create"
    if user is not None and user.active:
        connect(user, ready.provider, ready.claims["sub"])
        add(tenant_id=user.tenant_id, principal="system:single_sign_on", role="system", action=action, resource="user",
            resource_id=user.id, result="allowed", reason=f"with {ready.provider.name}")
    return user


def _create(call: Call, provider: Provider, profile: Mapping[str, Any]) -> User | None:
    """Creates an account without a password. Returns None where none is created."""
    email = _address(provider, profile)
    if email is None or not provider.create_users:
        return None
    user = User(name=_name(profile, email), email=email, role=provider.role, password_hash=UNUSABLE,
                email_verified_at=now())
    try:
        call.services.database.attempt(lambda: Rows(User, call.tenant_id).insert(user))
    except AlreadyExists:  # opened at the same time
        raise Problem("forbidden", BEGIN_AGAIN) from None
    return user
