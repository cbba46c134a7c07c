"""Endpoints for login and logout, registration, and the caller's own account."""

from __future__ import annotations

from typing import Any

from flask import Request, Response
from marshmallow import fields

from blueprints.users import UserSchema
from gatepost import Bool, Call, Email, Fault, Name, NewPassword, Problem, Routes, Rows, StrictSchema, Text, now
from gatepost.http.credentials import cookies, sessions, step_up
from gatepost.http.credentials.guessing import guessing
from gatepost.http.pipeline.limiting import count_for_the_day
from gatepost.http.protocol.entity_tags import entity_tag, version_of, view_hash
from gatepost.http.protocol.json_body import MERGE_PATCH
from gatepost.http.request import audit, identity
from gatepost.http.request.access import lost_role
from gatepost.http.request.call import Services
from gatepost.http.request.identity import principal_of
from gatepost.http.request.urls import path_of
from gatepost.http.schemas.validation import MISSING
from gatepost.http.security import passwords
from models.base import new_row
from models.records.times import elapsed
from models.tables.session import Session, revoke
from models.tables.user import User
from policies import Principal
from settings import Settings

_NAME = "gatepost_refresh"  # over HTTPS with the prefix `__Secure-`, which browsers refuse over plain HTTP


def sent(settings: Settings, request: Request) -> str | None:
    """Returns the refresh token in the cookie; None without a cookie. Raises `Problem` for two cookies."""
    return cookies.sent(request, _name_of(settings, request))


def refuse_foreign(settings: Settings, request: Request) -> None:
    """Raises `Problem` (`forbidden`) for a request from a page of another origin, by the headers of browsers."""
    cookies.refuse_foreign(settings, request)


def identify(services: Services, request: Request) -> tuple[Principal, str | None]:
    """Returns the principal who logs out, and the id of the session: by `Authorization`, else by the cookie.

    Raises `Problem`: `invalid_token`, `token_expired`, `forbidden` for a page of another origin, `invalid_header`.
    """
    if _all_sent(services.settings, request):
        refuse_foreign(services.settings, request)  # also with a token, because `take_back` ends the cookie's session
    if "HTTP_AUTHORIZATION" in request.environ or (token := sent(services.settings, request)) is None:
        return identity.identify(services, request)
    renewable = sessions.renewable(token)
    if renewable is None:
        raise sessions.invalid({"Set-Cookie": _cookie(services.settings, request, "", 0)})
    session, user = renewable
    return identity.logged_in(services, identity.principal_of(user), session.id), session.id


def exchange(call: Call, token: str) -> dict[str, Any]:
    """Exchanges the token of the cookie, and sets its newest successor as cookie.

    With an older successor, a later request would look like the use of a stolen token. Raises the errors of
    `sessions.exchange`, and `forbidden` for a page of another origin.
    """
    settings, request = call.services.settings, call.request
    refuse_foreign(settings, request)
    try:
        answer = sessions.exchange(call, token, newest=True)
    except Problem as problem:
        if problem.code == "invalid_token":
            problem.headers["Set-Cookie"] = _cookie(settings, request, "", 0)
        raise
    return put(call, answer)


def put(call: Call, answer: dict[str, Any]) -> dict[str, Any]:
    """Moves the refresh token from the answer of a login or refresh to the cookie; `call.row` is its session."""
    lasts = round(elapsed(now(), call.row.expires_at))
    call.headers["Set-Cookie"] = _cookie(call.services.settings, call.request, answer["refresh_token"], lasts)
    return {name: value for name, value in answer.items() if name != "refresh_token"}


def take_back(call: Call) -> str | None:
    """Clears the cookie of a caller who logs out. Returns the id of its session; None unless one cookie is valid."""
    settings, request = call.services.settings, call.request
    tokens = _all_sent(settings, request)
    if not tokens:
        return None
    call.headers["Set-Cookie"] = _cookie(settings, request, "", 0)
    renewable = sessions.renewable(tokens.pop()) if len(tokens) == 1 else None
    return None if renewable is None else renewable[0].id


def _name_of(settings: Settings, request: Request) -> str:
    return f"__Secure-{_NAME}" if cookies.is_secure(settings, request) else _NAME


def _all_sent(settings: Settings, request: Request) -> set[str]:
    return cookies.all_sent(request, _name_of(settings, request))


def _cookie(settings: Settings, request: Request, value: str, seconds: int) -> str:
    return cookies.cookie(settings, request, _name_of(settings, request), value, path_of(request, "/api"), seconds)


routes = Routes("session", "Log in and out, open an account, and change one's own.")

_LARGEST_BODY = 32 * 2**10  # bytes of a guest's body: enough for every field at its longest, in escapes
_REFRESH = "the refresh token, in the body or the cookie, is the credential"
_JWKS = "other services verify access tokens by these public keys"


class LoginSchema(StrictSchema):
    email = Text(required=True, maximum=254, metadata={"example": "noor@example.org"})
    password = Text(required=True, maximum=passwords.LONGEST, metadata={"example": "seven green lanterns"})
    cookie = Bool(load_default=False, metadata={
        "description": "Whether the refresh token comes as a cookie, which scripts cannot read: for pages of the "
                       "service's own origin."})


class RefreshSchema(StrictSchema):
    refresh_token = Text(maximum=8192, metadata={"description": "Needed, unless the cookie of a login is sent."})


class TokenSchema(StrictSchema):
    access_token = fields.String(required=True)
    token_type = fields.String(required=True, metadata={"enum": ["Bearer"]})
    expires_in = fields.Integer(required=True, metadata={"description": "Seconds."})
    refresh_token = fields.String(metadata={"description": "Absent where it is in the cookie."})
    scope = fields.String(required=True)


class LogoutSchema(StrictSchema):
    all = fields.Boolean(load_default=False)


class RegisterSchema(StrictSchema):
    name = Name(required=True, metadata={"example": "Noor Visser"})
    email = Email(required=True, metadata={"example": "noor@example.org"})
    password = NewPassword(required=True, attribute="password_hash")


class RegisteredSchema(StrictSchema):
    id = fields.String(required=True)
    name = fields.String(required=True)
    role = fields.String(required=True)


class ProfileSchema(StrictSchema):
    name = Name(metadata={"example": "Noor van Visser"})
    email = Email()
    current_password = step_up.CurrentPassword(about="change your e-mail address")


class AccountSchema(UserSchema):
    """The caller's own account and permissions."""

    permissions = fields.List(fields.String(), required=True, dump_only=True, metadata={
        "description": "What the rules in force let the caller do to some object at this moment, within the scopes of "
                       "their token: `user.*` where that is all that can be done to users, `*` where it is all "
                       "there is."})


class PasswordSchema(StrictSchema):
    current_password = Text(required=True, maximum=passwords.LONGEST, metadata={"example": "seven green lanterns"})
    new_password = Text(required=True, maximum=passwords.LONGEST, metadata={"example": "nine slow ferries"})


class KeySetSchema(StrictSchema):
    keys = fields.List(fields.Dict(), required=True)


def _check_password(call: Call) -> None:
    """Checks the password, and computes a new hash if the stored one is outdated. Sets `call.prepared`."""
    # Before the transaction, because checking a password takes milliseconds, in which other writers would wait.
    email, password = call.body["email"], call.body["password"]
    if call.body["cookie"]:
        refuse_foreign(call.services.settings, call.request)
    with guessing(call, email):
        with call.services.database.connected():  # released while the password is hashed
            user = User.by_email(email)
        right = passwords.verify(password, None if user is None else user.password_hash)
        if user is None or not right or not user.active:
            raise _wrong(call, user)
    call.services.limits.spend_of_session(principal_of(user))
    end = passwords.end_of(user.password_hash)
    if end is not None and end <= now():
        raise Problem("forbidden", "This password has expired. Ask an administrator for a new one.")
    if user.role not in call.access.policy.roles.of_users:
        raise lost_role(user.role)
    fresh = None
    if passwords.outdated(user.password_hash):
        fresh = passwords.hash_password(password)
        fresh = fresh if end is None else passwords.ending(fresh, end)
    try:
        sessions.ask_next_steps(call, user)
    except Problem:
        if fresh is not None:
            _renew_hash(call, user, fresh)
        raise
    call.prepared = user, fresh


def _renew_hash(call: Call, user: User, fresh: str) -> None:
    """Stores a new hash of the same password, as the same version: a login that waits for its next step stays valid."""
    call.services.database.transact(lambda: Rows(User, user.tenant_id).change(
        {User.password_hash: fresh, User.version: User.version}, User.id == user.id,
        User.password_hash == user.password_hash))


def user_checked(call: Call) -> User:
    """Returns the user whose password was checked, in the transaction of a login. Raises `Problem` if it changed.

    The user may have set up a second factor since then, which also changes the version. Without a lock, the session
    might escape the change that ends all others.
    """
    checked, fresh = call.prepared
    user = Rows(User, checked.tenant_id).find(checked.id, lock=True)
    if user is None or not user.active or user.password_hash != checked.password_hash:
        raise _wrong(call, user)
    if user.version != checked.version:
        raise Problem("invalid_credentials", "The account has changed during this login. Log in again.")
    if fresh is not None:
        user.password_hash = fresh
        Rows(User, user.tenant_id).save(user)
    return user


@routes.post("/api/login", permission="session.create", body=LoginSchema(), answer=TokenSchema(), secret=True,
             prepare=_check_password, carries=("Set-Cookie",), largest_body=_LARGEST_BODY)
def log_in(call: Call) -> dict[str, Any]:
    """Log in: exchange e-mail and password for tokens."""
    answer = sessions.open_session(call, user_checked(call))
    return put(call, answer) if call.body["cookie"] else answer


@routes.post("/api/token/refresh", public=_REFRESH, body=RefreshSchema(), body_required=False, answer=TokenSchema(),
             secret=True, writes=False, problems=(403,), recorded="session.refresh",
             carries=("Set-Cookie",), by_cookie=True, largest_body=_LARGEST_BODY)
def refresh(call: Call) -> dict[str, Any]:
    """Exchange a refresh token for new tokens: a repetition within ten seconds is given the same refresh token."""
    kept = sent(call.services.settings, call.request)
    if "refresh_token" not in call.body:
        if kept is None:
            raise _missing(call)
        return exchange(call, kept)
    if kept is not None:
        fault = Fault("invalid_field", "Send the refresh token in the body or as the cookie, not both.",
                      pointer="/refresh_token")
        raise Problem.of([fault], "invalid_body")
    return sessions.exchange(call, call.body["refresh_token"])


def _missing(call: Call) -> Problem:
    """Returns the problem of a request without a token: 401 without a body, because the browser has dropped the cookie.

    With a body, it is 400.
    """
    if call.request.get_data():
        return Problem.of([Fault("missing_field", MISSING, pointer="/refresh_token")], "invalid_body")
    return Problem("unauthenticated", "Send the refresh token in the body, or as the cookie of a login.")


def _own_account(call: Call) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "", lock=call.endpoint.writes)


@routes.post("/api/logout", permission="profile.update", body=LogoutSchema(), body_required=False, status=204,
             secret=True, load=_own_account, recorded="session.logout", identify=identify,
             carries=("Set-Cookie",), by_cookie=True)
def log_out(call: Call) -> None:
    """End this session, that of the cookie and of the token, or all sessions of the caller."""
    mine, ended = Session.owner_id == call.principal.id, (call.session_id, take_back(call))
    revoke(call.tenant_id, mine if call.body.get("all") else mine & Session.id.in_([id for id in ended if id]))


def _applicant(call: Call) -> User:
    """Returns the new account for the policy's decision: with the role `user`, in the caller's tenant."""
    user = new_row(User, call.tenant_id, now())
    user.owner_id, user.role = user.id, "user"
    user.name, user.email, user.password_hash = (call.body[name] for name in ("name", "email", "password_hash"))
    return user


def _count_account(call: Call) -> None:
    count_for_the_day(call, "register")


@routes.post("/api/register", permission="user.register", body=RegisterSchema(), answer=RegisteredSchema(),
             status=201, secret=True, tight=True, prepare=_count_account, load=_applicant,
             largest_body=_LARGEST_BODY)
def register(call: Call) -> dict[str, Any]:
    """Open an account."""
    user = Rows(User, call.tenant_id).insert(call.row)
    call.headers["Location"] = path_of(call.request, f"/api/users/{user.id}")
    return {"id": user.id, "name": user.name, "role": user.role}


@routes.get("/api/profile", permission="profile.view", answer=AccountSchema(), load=_own_account,
            operation="profile_get")
def profile(call: Call) -> dict[str, Any]:
    """Get the caller's own account, in full, and what they may do."""
    return _shown(call, call.row)


def _confirm_email(call: Call) -> None:
    step_up.confirm_email(call, call.principal.id or "", call.body)


@routes.patch("/api/profile", permission="profile.update", body=ProfileSchema(), answer=AccountSchema(),
              prepare=_confirm_email, load=_own_account, conditional=True, accepts=MERGE_PATCH,
              operation="profile_update")
def change_profile(call: Call) -> dict[str, Any]:
    """Change one's own name or e-mail address."""
    for name, value in step_up.allowed(call, call.row, call.body).items():
        if getattr(call.row, name) != value:
            setattr(call.row, name, value)
    Rows(User, call.tenant_id).save(call.row)
    return _shown(call, call.row)


def _check_own_password(call: Call) -> None:
    with call.services.database.connected():  # released while the passwords are hashed
        user = Rows(User, call.tenant_id).find(call.principal.id or "")
    known = () if user is None else (user.name, user.email)
    if (reason := passwords.objection(call.body["new_password"], *known)) is not None:
        raise Problem.of([Fault("invalid_field", reason, pointer="/new_password")], "invalid_body")
    kept = None if user is None else user.password_hash
    with guessing(call, "" if user is None else user.email):
        if not passwords.verify(call.body["current_password"], kept):
            raise _wrong(call, user)
    call.prepared = kept, passwords.hash_password(call.body["new_password"])


@routes.post("/api/profile/password", permission="profile.update", body=PasswordSchema(), status=204, secret=True,
             prepare=_check_own_password, load=_own_account, recorded="profile.password",
             operation="profile_change_password")
def change_password(call: Call) -> None:
    """Choose a new password: all other sessions end."""
    user, (checked, fresh) = call.row, call.prepared
    if user.password_hash != checked:
        raise _wrong(call, user)
    user.password_hash = fresh
    Rows(User, call.tenant_id).save(user)
    revoke(call.tenant_id, Session.owner_id == user.id, Session.id != call.session_id)


@routes.post("/api/profile/end-other-sessions", permission="profile.update", status=204, load=_own_account,
             recorded="profile.end_other_sessions", operation="profile_end_other_sessions")
def end_other_sessions(call: Call) -> None:
    """End all sessions of the caller except the one of this request."""
    revoke(call.tenant_id, Session.owner_id == call.principal.id, Session.id != call.session_id)


@routes.get("/.well-known/jwks.json", public=_JWKS, answer=KeySetSchema(), problems=(404,), operation="jwks")
def public_keys(call: Call) -> Response | dict[str, Any]:
    """List the public keys that verify access tokens (RFC 7517), where the setting `token_algorithm` is not HS256."""
    keys = call.services.access_tokens.public_keys()
    if not keys:
        raise Problem("not_found", "Tokens are signed with a shared secret.")
    call.headers["Cache-Control"] = "public, max-age=300"
    return {"keys": keys}


def _wrong(call: Call, user: User | None) -> Problem:
    """Returns the same problem for an unknown e-mail, a wrong password and a disabled account; records the failure."""
    audit.note_failure(call, user)
    return audit.WrongPassword("invalid_credentials", "E-mail or password is wrong.")


def _shown(call: Call, user: User) -> dict[str, Any]:
    permissions, version = call.access.patterns(), version_of(call.services.epoch.value, user.version)
    call.headers["ETag"] = entity_tag(version, view_hash(tuple(permissions)))
    representation = call.services.collections["users"].representation
    return {**representation.encode(dict(user.__data__), representation.names), "permissions": permissions}
