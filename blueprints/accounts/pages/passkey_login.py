"""The login with a passkey. The page asks the browser for one, and sends what it signed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flask import Response

from blueprints.sessions.login import routes as session
from gatepost import Call, Message, Problem, Routes, Rows, StrictSchema, Text, ask_next_steps, now
from gatepost.http.credentials import console_sessions
from gatepost.http.security import passwords
from models.tables.passkey import Passkey
from models.tables.user import User

from ...console.pages import (
    Way,
    drawn_again,
    form,
    further_step,
    inside,
    offer_login,
    page,
    see_other,
    sentence,
    showing,
    texts,
    typed,
)
from .. import MFA
from ..passkeys import ceremonies, challenges
from .passkeys import when

PATH = "/console/login/passkey"
_LOG_IN = next(endpoint for endpoint in session.endpoints if endpoint.name == "log_in")

show = showing(__package__)
routes = Routes("console_passkey_login", "A login with a passkey.", when=when)


def _ways(call: Call) -> list[Way]:
    return [Way(PATH, Message("Log in with a passkey"))] if PATH in call.services.registry.paths else []


offer_login(_ways)


class PasskeyForm(StrictSchema):
    credential = Text(required=True, maximum=ceremonies.LONGEST)


@routes.get(PATH, **page(public="a user who logs in has no session yet", query=texts("next"),
                         identify=console_sessions.visitor))
def login(call: Call) -> Response:
    """Show the button that asks for a passkey."""
    return _drawn(call, call.query.get("next"))


def _drawn(call: Call, wanted: str | None, problem: Problem | None = None) -> Response:
    return show(call, "passkey_login.html", framed=False, wanted=inside(wanted), options=ceremonies.login_options(call),
                problem="" if problem is None else sentence(call, problem))


def _again(call: Call, problem: Problem) -> Response:
    wanted = typed(call).get("_next")
    return further_step(call, problem, wanted) or _drawn(call, wanted, problem)


def _prepare(call: Call) -> None:
    proof = call.prepared = ceremonies.proof(call, call.body["credential"])
    try:
        ask_next_steps(call, proof.user, _notes(proof))
    except Problem:
        call.services.database.transact(lambda: _use(call))
        raise


def _notes(proof: ceremonies.Proof) -> dict[str, Any]:
    return {MFA: True, "passkey": proof.passkey.id}


def _start(call: Call) -> None:
    console_sessions.start(call, _use(call), _notes(call.prepared))
    call.write.note = "with a passkey"


def _use(call: Call) -> User:
    """Uses the challenge in a transaction. Raises `Problem` if it, the passkey or the user changed since the check."""
    proof: ceremonies.Proof = call.prepared
    user = Rows(User, proof.user.tenant_id).find(proof.user.id, lock=True)
    passkey = Rows(Passkey, proof.user.tenant_id).find(proof.passkey.id, lock=True)
    if (user is None or not user.active or passkey is None or passkey.version != proof.passkey.version
            or not challenges.use(user.tenant_id, proof.challenge)):
        raise ceremonies.refused()
    end = passwords.end_of(user.password_hash)
    if end is not None and end <= now():
        raise Problem("forbidden", "This account has expired. Ask an administrator.")
    passkey.sign_count, passkey.last_used_at = proof.sign_count, now()
    Rows(Passkey, user.tenant_id).save(passkey)
    return user


def _in(call: Call, _: Any) -> Response:
    return see_other(call, inside(typed(call).get("_next")))


routes.endpoints.append(form(
    replace(_LOG_IN, handler=_start, prepare=_prepare, body=PasskeyForm(), tight=True, largest_body=64 * 2**10),
    PATH, _in, drawn_again(_again), identify=console_sessions.visitor, carries=()))
