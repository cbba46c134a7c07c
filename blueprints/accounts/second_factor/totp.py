"""Codes that an app computes from a secret and the time (TOTP, RFC 6238): six digits, each for 30 seconds.

It needs the extra `accounts`, which is imported when it is used.
"""

from __future__ import annotations

import time
from hmac import compare_digest
from io import BytesIO
from types import ModuleType

from gatepost import Problem

DIGITS = 6
STEP = 30  # seconds of a code
_AROUND = 1  # steps that the clock of a phone may be early or late


def is_installed() -> bool:
    """True if the libraries are installed."""
    try:
        _libraries()
    except Problem:
        return False
    return True


def new_secret() -> str:
    """Returns a random secret of 160 bits, in base32. Raises `Problem` (`conflict`)."""
    pyotp, _ = _libraries()
    return str(pyotp.random_base32())


def uri(secret: str, account: str, service: str) -> str:
    """Returns the URI that apps read from a QR code: `otpauth://totp/…`. Raises `Problem` (`conflict`)."""
    pyotp, _ = _libraries()
    return str(pyotp.TOTP(secret, digits=DIGITS, interval=STEP).provisioning_uri(name=account, issuer_name=service))


def qr_code(text: str) -> str:
    """Returns the QR code of a text as SVG, dark on white. Raises `Problem` (`conflict`)."""
    _, segno = _libraries()
    buffer = BytesIO()
    segno.make(text, micro=False).save(buffer, kind="svg", xmldecl=False, scale=4, light="white")
    return buffer.getvalue().decode()


def matching_step(secret: str, code: str, after: int) -> int | None:
    """Returns the time step of a code that is valid now, the first after step `after`; None for a wrong or used code.

    Raises `Problem` (`conflict`).
    """
    pyotp, _ = _libraries()
    counter, current = pyotp.HOTP(secret, digits=DIGITS), int(time.time()) // STEP
    matching = [step for step in range(current - _AROUND, current + _AROUND + 1)
                if compare_digest(str(counter.at(step)).encode(), code.encode())]
    return next((step for step in matching if step > after), None)


def _libraries() -> tuple[ModuleType, ModuleType]:
    try:
        import pyotp
        import segno
    except ImportError:
        raise Problem("conflict", "This service cannot check codes of an app, because its extra `accounts` is not "
                                  "installed. Recovery codes work. Tell an administrator.") from None
    return pyotp, segno
