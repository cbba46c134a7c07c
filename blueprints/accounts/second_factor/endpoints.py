"""Endpoints: complete a login with a code; set up, renew and remove one's own second factor; remove that of a user."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from marshmallow import fields

from blueprints.sessions.login import TokenSchema, put, refuse_foreign
from gatepost import (
    Bool,
    Call,
    Fault,
    Message,
    Problem,
    Routes,
    Rows,
    StrictSchema,
    Text,
    Time,
    later,
    now,
    open_session,
)
from gatepost.http.credentials import step_up
from gatepost.http.credentials.guessing import guessing
from gatepost.http.request import audit
from gatepost.http.writing.rules_in_code import LOGIN, NOT_OWN, STATE, RuleInCode, rank
from models.tables.second_factor import SecondFactor
from models.tables.session import Session, end_all, revoke
from models.tables.user import User

from . import encryption, factors, totp
from . import login as logins

routes = Routes("second_factor", "A second factor of logins: codes of an app, and recovery codes.")

SETUP = 600.0  # seconds in which a new factor is confirmed
_LARGEST_BODY = 32 * 2**10  # bytes of a guest's body
_OWN = "/api/profile/second-factor"


class LoginCodeSchema(StrictSchema):
    challenge = Text(required=True, maximum=200, metadata={"description": "From the answer to the login."})
    code = Text(required=True, maximum=factors.LONGEST, metadata={
        "description": "The code that the app shows, or a recovery code."})
    cookie = Bool(load_default=False, metadata={"description": "As in the login."})


class SecondFactorSchema(StrictSchema):
    """The second factor of the caller."""

    active = fields.Boolean(required=True)
    confirmed_at = Time(required=True, allow_none=True)
    recovery_codes = fields.Integer(required=True, metadata={"description": "Recovery codes that are left."})


class SecondFactorSetupSchema(StrictSchema):
    current_password = step_up.CurrentPassword(about="set up a second factor")


class SecondFactorSecretSchema(StrictSchema):
    """A new secret. It is answered only now."""

    secret = fields.String(required=True, metadata={"description": "The secret in base32, to type into an app."})
    uri = fields.String(required=True, metadata={"description": "The same as URI for apps: `otpauth://totp/…`."})
    qr_code = fields.String(required=True, metadata={"description": "The URI as QR code: an SVG image."})
    expires_at = Time(required=True, metadata={"description": "Until then, a code confirms it."})


class SecondFactorConfirmationSchema(StrictSchema):
    code = Text(required=True, maximum=factors.LONGEST, metadata={"description": "The code that the app shows."})


class SecondFactorChangeSchema(StrictSchema):
    code = Text(required=True, maximum=factors.LONGEST, metadata={
        "description": "A code of the app, or a recovery code."})
    current_password = step_up.CurrentPassword(about="change the second factor")


class RecoveryCodesSchema(StrictSchema):
    """New recovery codes. They are answered only now."""

    recovery_codes = fields.List(fields.String(), required=True)


def _check_login(call: Call) -> None:
    if call.body["cookie"]:
        refuse_foreign(call.services.settings, call.request)
    logins.prepare(call, call.body["challenge"], call.body["code"])


@routes.post("/api/login/verify", permission="session.create", body=LoginCodeSchema(), answer=TokenSchema(),
             secret=True, prepare=_check_login, carries=("Set-Cookie",), largest_body=_LARGEST_BODY, problems=(409,),
             operation="session_verify")
def verify(call: Call) -> dict[str, Any]:
    """Complete a login with a code: the challenge is in the answer to the login."""
    answer = open_session(call, *logins.complete(call, call.body["challenge"], call.body["code"]))
    return put(call, answer) if call.body["cookie"] else answer


def _own_account(call: Call) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "", lock=call.endpoint.writes)


@routes.get(_OWN, permission="profile.view", answer=SecondFactorSchema(), load=_own_account,
            operation="profile_get_second_factor")
def state(call: Call) -> dict[str, Any]:
    """Tell whether the caller has a second factor."""
    factor = factors.factor_of(call.row)
    return {"active": factor is not None, "confirmed_at": None if factor is None else factor.confirmed_at,
            "recovery_codes": 0 if factor is None else len(factor.recovery_codes)}


def _confirm(call: Call) -> None:
    _require_user(call)
    step_up.confirm(call)


def _require_user(call: Call) -> None:
    if call.principal.kind == "service":
        raise Problem("forbidden", "A service token cannot change a second factor.")


@routes.post(_OWN, permission="profile.update", body=SecondFactorSetupSchema(),
             answer=SecondFactorSecretSchema(), status=201, secret=True, prepare=_confirm, load=_own_account,
             problems=(409,), recorded="profile.set_up_second_factor", operation="profile_set_up_second_factor")
def set_up(call: Call) -> dict[str, Any]:
    """Begin to set up a second factor: it counts from the first code on, which confirms it."""
    step_up.require(call)
    user: User = call.row
    if factors.factor_of(user) is not None:
        raise Problem("conflict", "You have a second factor already. Remove it first.")
    secret, settings = totp.new_secret(), call.services.settings
    rows = Rows(SecondFactor, user.tenant_id)
    rows.discard(owner_id=user.id)
    rows.insert(SecondFactor(owner_id=user.id, secret=encryption.encrypt(call.services.keys, secret, user.id)))
    call.headers["Cache-Control"] = "no-store"
    uri = totp.uri(secret, user.email, urlsplit(settings.public_url).hostname or "Gatepost")
    return {"secret": secret, "uri": uri, "qr_code": totp.qr_code(uri), "expires_at": later(SETUP)}


def _check_first_code(call: Call) -> None:
    """Counts a wrong code like a wrong password, because the right one is answered with the recovery codes."""
    _require_user(call)
    with call.services.database.connected():
        user = Rows(User, call.tenant_id).find(call.principal.id or "")
        factor = None if user is None else SecondFactor.of(user)
    if user is None or factor is None or factor.confirmed_at is not None:
        return
    with guessing(call, user.email):
        if not factors.confirm(call.services.keys, factor, call.body["code"]):
            raise _wrong_first_code()


@routes.post(f"{_OWN}/confirm", permission="profile.update", body=SecondFactorConfirmationSchema(),
             answer=RecoveryCodesSchema(), secret=True, prepare=_check_first_code, load=_own_account, problems=(409,),
             recorded="profile.add_second_factor", operation="profile_confirm_second_factor")
def confirm(call: Call) -> dict[str, Any]:
    """Confirm a new second factor with a code of the app: recovery codes are shown once, and other sessions end."""
    factor = SecondFactor.of(call.row)
    if factor is None or factor.confirmed_at is not None or factor.created_at <= later(-SETUP):
        raise Problem("conflict", "There is nothing to confirm, or it took too long. Begin again.")
    codes = factors.new_recovery_codes()
    if not factors.confirm(call.services.keys, factor, call.body["code"]):
        raise _wrong_first_code()
    factor.confirmed_at, factor.recovery_codes = now(), factors.stored(codes)
    Rows(SecondFactor, call.tenant_id).save(factor)
    Rows(User, call.tenant_id).change({}, User.id == call.row.id)  # a login without a code may be under way
    _end_others(call)
    call.headers["Cache-Control"] = "no-store"
    return {"recovery_codes": codes}


def _check_code(call: Call) -> None:
    """Checks the password, if one is needed, and the code, before the transaction."""
    _confirm(call)
    with call.services.database.connected():
        user = Rows(User, call.tenant_id).find(call.principal.id or "")
        if user is None or factors.factor_of(user) is None:
            raise _none()
    with guessing(call, user.email):
        if not factors.is_right(call.services.database, call.services.keys, user, call.body["code"]):
            audit.note_failure(call, user, "wrong_code")
            raise _wrong()


def _use_code(call: Call) -> SecondFactor:
    step_up.require(call)
    if factors.factor_of(call.row) is None:
        raise _none()
    factor = factors.use(call.services.keys, call.row, call.body["code"])
    if factor is None:
        raise _wrong()
    call.write.note = factors.described(call.body["code"])
    return factor


@routes.post(f"{_OWN}/recovery-codes", permission="profile.update", body=SecondFactorChangeSchema(),
             answer=RecoveryCodesSchema(), secret=True, prepare=_check_code, load=_own_account, problems=(409,),
             recorded="profile.renew_recovery_codes", operation="profile_renew_recovery_codes")
def renew(call: Call) -> dict[str, Any]:
    """Make new recovery codes: the earlier ones are void."""
    factor, codes = _use_code(call), factors.new_recovery_codes()
    factor.recovery_codes = factors.stored(codes)
    Rows(SecondFactor, call.tenant_id).save(factor)
    call.headers["Cache-Control"] = "no-store"
    return {"recovery_codes": codes}


@routes.post(f"{_OWN}/remove", permission="profile.update", body=SecondFactorChangeSchema(), status=204, secret=True,
             prepare=_check_code, load=_own_account, problems=(409,), recorded="profile.remove_second_factor",
             operation="profile_remove_second_factor")
def remove(call: Call) -> None:
    """Remove one's own second factor: all other sessions end."""
    _use_code(call)
    factors.remove(call.row)
    _end_others(call)


def _end_others(call: Call) -> None:
    revoke(call.tenant_id, Session.owner_id == call.principal.id, Session.id != call.session_id)


def _account(call: Call) -> User | None:
    user: User | None = call.services.collections["users"].load_record(call)  # type: ignore[attr-defined]
    return user


def rules(call: Call, user: User | None) -> Iterator[RuleInCode]:
    """Yields the rules in code about who may remove the second factor of the user; None: of any user."""
    if call.principal.kind == "service":
        yield RuleInCode(LOGIN, Message("the caller uses a service token"),
                         Problem("forbidden", "A service token cannot remove a second factor."))
    else:
        yield RuleInCode(LOGIN, Message("the caller uses no service token"))
    yield rank(call.access, None if user is None else user.role)
    if user is None:
        yield RuleInCode(STATE, Message("the user must have a second factor"), sent=True)
        return
    mine = user.id == call.principal.id
    yield RuleInCode(NOT_OWN, Message("it is the caller's own account") if mine else
                     Message("it is the account of another user"),
                     Problem("forbidden", "Remove your own second factor with one of its codes.") if mine else None)
    with call.services.database.connected():
        has = factors.factor_of(user) is not None
    yield RuleInCode(STATE, Message("the user has a second factor") if has else
                     Message("the user has no second factor"),
                     None if has else Problem("conflict", "This user has no second factor."))


@routes.post("/api/users/<id>/remove-second-factor", permission="user.remove_second_factor", status=204, load=_account,
             rules=rules, operation="users_remove_second_factor")
def remove_of_user(call: Call) -> None:
    """Remove the second factor of a user who lost it: their sessions end, and the password alone is enough again."""
    user: User = call.row
    factors.remove(user)
    end_all(user)
    Rows(User, user.tenant_id).save(user)


def _none() -> Problem:
    return Problem("conflict", "You have no second factor.")


def _wrong() -> Problem:
    return audit.WrongPassword.of([Fault("forbidden", "The code is wrong, or was used before.", pointer="/code")],
                                  "forbidden")


def _wrong_first_code() -> Problem:
    return Problem.of([Fault("invalid_field", "The code is wrong. Check the clock of the device, and try the next "
                                              "code.", pointer="/code")], "invalid_body")
