"""A phone with an authenticator app, and a clock that tests move."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyotp

from gatepost.testing import Caller
from models.tables.user import User
from tests.apps import PASSWORD

OWN = "/api/profile/second-factor"
VERIFY = "/api/login/verify"


@dataclass
class Clock:
    """The clock that the service reads in place of `time`."""

    seconds: float = 1_800_000_000.0

    def time(self) -> float:
        return self.seconds

    def forward(self, seconds: float = 30) -> None:
        self.seconds += seconds


@dataclass
class Phone:
    """An app with the secret of one account. `fast` are the seconds by which its clock is ahead."""

    secret: str
    clock: Clock
    recovery_codes: list[str] = field(default_factory=list)
    fast: float = 0

    def code(self) -> str:
        """Returns the code of the moment."""
        return pyotp.TOTP(self.secret).at(int(self.clock.seconds + self.fast))

    def new_code(self) -> str:
        """Waits for the next code, which was not used."""
        self.clock.forward()
        return self.code()


def enrol(caller: Caller, clock: Clock) -> Phone:
    """Sets up a second factor for a caller who has just logged in."""
    begun = caller.post(OWN, {})
    assert begun.status_code == 201, begun.text
    phone = Phone(begun.json["secret"], clock)
    confirmed = caller.post(f"{OWN}/confirm", {"code": phone.code()})
    assert confirmed.status_code == 200, confirmed.text
    phone.recovery_codes = confirmed.json["recovery_codes"]
    return phone


def password_sent(guest: Caller, user: User, password: str = PASSWORD) -> Any:
    """Sends the password, and returns the answer."""
    return guest.post("/api/login", {"email": user.email, "password": password})


def challenged(guest: Caller, user: User, password: str = PASSWORD) -> str:
    """Sends the password, and returns the challenge."""
    answer = password_sent(guest, user, password)
    assert (answer.status_code, answer.json["code"]) == (401, "login_incomplete"), answer.text
    return str(answer.json["errors"][0]["meta"]["challenge"])


def code_sent(guest: Caller, challenge: str, code: str, **more: Any) -> Any:
    """Sends a code, and returns the answer."""
    return guest.post(VERIFY, {"challenge": challenge, "code": code, **more})
