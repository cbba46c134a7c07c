"""Logins of users with a second factor: the password, then a code.

After a right password, `next_step` stores a challenge that is valid for `LASTS` and `TRIES` codes, and answers with its
token. The endpoint of the API and the page of the console complete the login (`prepare`, `complete`).
"""

from __future__ import annotations

import secrets
from typing import Any

from gatepost import Call, Fault, Problem, ask_next_steps, later
from gatepost.http.credentials.guessing import guessing
from gatepost.http.request import audit
from gatepost.http.request.identity import hashed
from models.tables.login_challenge import LoginChallenge, add_challenge
from models.tables.user import User

from .. import MFA
from . import factors

LASTS = 300.0  # seconds of a challenge
PAGE = "/console/login/code/<token>"


def next_step(call: Call, user: User) -> None:
    """Raises `Problem` (`login_incomplete`) with the token of a new challenge if the user has a second factor.

    A passkey, and a provider that has asked for a second factor, are one themselves.
    """
    services = call.services
    if (call.login or {}).get(MFA):
        return
    with services.database.connected():
        if factors.factor_of(user) is None:
            return
    token = secrets.token_urlsafe(32)
    services.database.transact(lambda: add_challenge(user, hashed(token), later(LASTS), call.login))
    if call.request.path.startswith("/console"):
        raise Problem("login_incomplete", "Enter a code.", headers={"Location": PAGE.replace("<token>", token)})
    raise Problem("login_incomplete", "Send the challenge with a code to POST /api/login/verify.", [
        Fault("login_incomplete", "Send the challenge with a code.",
              meta={"challenge": token, "expires_in": round(LASTS)})], headers={"Cache-Control": "no-store"})


def holder(call: Call, token: str) -> User:
    """Returns the user of a valid challenge. Raises `Problem` (`invalid_credentials`)."""
    with call.services.database.connected():
        user = LoginChallenge.user_of(hashed(token))
    if user is None:
        raise over()
    return user


def prepare(call: Call, token: str, code: str) -> None:
    """Checks a code before the transaction. Counts a try of the challenge, and a wrong code of the account.

    If another feature asks for a further step, the code is used up. Raises `Problem`: `invalid_credentials`,
    `rate_limited`, `conflict`, `login_incomplete`.
    """
    services, user = call.services, holder(call, token)
    with guessing(call, user.email):
        if not services.database.transact(lambda: LoginChallenge.count_try(hashed(token))):
            raise over()
        if not factors.is_right(services.database, services.keys, user, code):
            audit.note_failure(call, user, "wrong_code")
            raise _wrong()
    with services.database.connected():
        notes = LoginChallenge.notes(hashed(token))
    try:
        ask_next_steps(call, user, {**notes, MFA: True})
    except Problem:
        services.database.transact(lambda: complete(call, token, code))
        raise


def complete(call: Call, token: str, code: str) -> tuple[User, dict[str, Any]]:
    """Uses the challenge and the code in a transaction. Returns the user, and what the session notes of the login.

    Raises `Problem` as `prepare` does.
    """
    user, notes = LoginChallenge.user_of(hashed(token), lock=True), LoginChallenge.notes(hashed(token))
    if user is None or not LoginChallenge.take(hashed(token)):
        raise over()
    if factors.use(call.services.keys, user, code) is None:
        raise _wrong()  # another request was faster with it
    provider = [f"with {notes['issuer']}"] if "issuer" in notes else []
    call.write.note = ", ".join((*provider, factors.described(code)))
    return user, {**notes, MFA: True}


def over() -> Problem:
    """Returns one refusal for an unknown, used or expired challenge, so that it does not tell which."""
    return Problem("invalid_credentials", "This login has expired, or had too many wrong codes. Log in again.")


def _wrong() -> Problem:
    return audit.WrongPassword.of([Fault("invalid_credentials", "The code is wrong, or was used before.",
                                         pointer="/code")], "invalid_credentials")
