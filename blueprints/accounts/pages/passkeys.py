"""*Passkeys* of *Your account*: add one, and remove one. Both need the password, or a fresh login."""

from __future__ import annotations

from typing import Any

from flask import Response

from gatepost import Call, Name, Problem, Routes, Rows, StrictSchema, Text
from gatepost.http.credentials import step_up
from gatepost.http.credentials.console_sessions import member
from gatepost.http.request.endpoint import Endpoint
from gatepost.http.request.identity import as_of_now
from models.engine.errors import AlreadyExists
from models.tables.passkey import MOST, Passkey, passkeys_of
from models.tables.user import User
from settings import Settings

from ...console.pages import drawn_again, form, page, see_other, sentence, served, showing, texts
from ..passkeys import ceremonies, challenges, configured

PATH = "/console/account/passkeys"
_LONGEST_NAME = 100


def when(settings: Settings) -> bool:
    """True if the console is served, and passkeys are on."""
    return served(settings) and configured.is_on(settings)


show = showing(__package__)
routes = Routes("console_passkeys", "One's own passkeys.", when=when)


class PasskeyBeginSchema(StrictSchema):
    current_password = step_up.CurrentPassword(about="add a passkey")


class PasskeyRemoveSchema(StrictSchema):
    current_password = step_up.CurrentPassword(about="remove a passkey")


class PasskeySchema(StrictSchema):
    name = Name(required=True, maximum=_LONGEST_NAME)
    credential = Text(required=True, maximum=ceremonies.LONGEST)


def _own_account(call: Call) -> User | None:
    return Rows(User, call.tenant_id).find(call.principal.id or "", lock=call.endpoint.writes)


@routes.get(PATH, **page("profile.view", query=texts("done"), identify=member))
def listed(call: Call) -> Response:
    """Show the passkeys of the caller."""
    return _drawn(call)


def _drawn(call: Call, problem: Problem | None = None, options: str = "") -> Response:
    say, user = call.services.translations.wanted(call.request).say, _own_account(call)
    if user is None:
        raise Problem("not_found")
    faults = {(fault.pointer or "/")[1:]: say(fault.detail) for fault in problem.faults} if problem else {}
    fault = faults.get(step_up.FIELD, "")
    return show(call, "passkeys.html", passkeys=passkeys_of(user), rp_id=call.services.settings.rp_id, options=options,
                fault=fault, at=call.request.path if problem else "", done=bool(call.query and call.query.get("done")),
                may_change=call.access.may_ever("profile.update"),
                problem="" if problem is None or fault else sentence(call, problem))


def _begin(call: Call) -> str:
    step_up.require(call)
    if len(passkeys_of(call.row)) >= MOST:
        raise Problem("conflict", "You have 20 passkeys. Remove one first.")
    return ceremonies.creation_options(call, call.row)


def _begun(call: Call, options: str) -> Response:
    return _drawn(call, options=options)


def _check(call: Call) -> None:
    call.prepared = ceremonies.created(call, call.principal.id or "", call.body["credential"])


def _add(call: Call) -> None:
    """Stores a passkey. Its challenge proves that the caller gave the password, at most five minutes ago."""
    new: ceremonies.Created = call.prepared
    as_of_now(call.services, call.principal, call.credential_id)  # a password link may have ended the session
    if len(passkeys_of(call.row)) >= MOST or not challenges.use(call.tenant_id, new.challenge):
        raise Problem("conflict", "This passkey cannot be used, or it took too long. Try again.")
    try:
        Rows(Passkey, call.tenant_id).insert(Passkey(
            owner_id=call.row.id, name=call.body["name"], rp_id=call.services.settings.rp_id,
            credential_id=new.credential_id, public_key=new.public_key, sign_count=new.sign_count))
    except AlreadyExists:
        raise Problem("conflict", "This passkey was added before.") from None


def _remove(call: Call) -> None:
    step_up.require(call)
    passkey = Rows(Passkey, call.tenant_id).find(call.path["id"])
    if passkey is None or passkey.owner_id != call.principal.id:
        raise Problem("not_found")
    Rows(Passkey, call.tenant_id).delete(passkey)


def _saved(call: Call, _: Any) -> Response:
    return see_other(call, f"{PATH}?done=1")


def _run(name: str, path: str, **declaration: Any) -> Endpoint:
    return Endpoint(name=name, method="POST", path=path, writes=True, permission="profile.update", secret=True,
                    load=_own_account, **declaration)


_AGAIN = drawn_again(_drawn)
routes.endpoints += [
    form(_run("begin", f"{PATH}/begin", handler=_begin, prepare=step_up.confirm, body=PasskeyBeginSchema(),
              recorded="profile.begin_passkey"), f"{PATH}/begin", _begun, _AGAIN, identify=member),
    form(_run("add", PATH, handler=_add, prepare=_check, body=PasskeySchema(), recorded="profile.add_passkey",
              largest_body=64 * 2**10), PATH, _saved, _AGAIN, identify=member),
    form(_run("remove", f"{PATH}/<id>/remove", handler=_remove, prepare=step_up.confirm, body=PasskeyRemoveSchema(),
              recorded="profile.remove_passkey"), f"{PATH}/<id>/remove", _saved, _AGAIN, identify=member),
]
