"""Codes of a user: those of their app, and recovery codes. Each is accepted once.

A wrong code counts like a wrong password (`guessing`). After `MOST_FAILURES` in a row, only recovery codes count. One
cannot be guessed, because it has 120 random bits. So a plain hash of it is enough, too.
"""

from __future__ import annotations

import secrets
from base64 import b32encode
from collections.abc import Iterable
from contextlib import suppress
from hmac import compare_digest

from gatepost import Problem, Rows
from gatepost.http.request.identity import hashed
from gatepost.http.security.keys import KeyFileError, Keys
from models.engine.database import Database
from models.tables.login_challenge import LoginChallenge
from models.tables.second_factor import SecondFactor
from models.tables.user import User

from . import totp
from .encryption import CannotDecrypt, decrypt

MOST_FAILURES = 100  # NIST SP 800-63B, section 3.2.2
RECOVERY_CODES = 10
LONGEST = 64  # characters of a code as it is typed, with spaces
_RECOVERY_BYTES = 15
_RECOVERY_CHARACTERS = 24
_GROUP = 6  # characters between hyphens


def factor_of(user: User) -> SecondFactor | None:
    """Returns the confirmed factor of a user."""
    factor = SecondFactor.of(user)
    return factor if factor is not None and factor.confirmed_at is not None else None


def is_right(database: Database, keys: Keys, user: User, text: str) -> bool:
    """Checks a code outside of a transaction, without using it. Stores the number of wrong ones.

    Raises `Problem` (`conflict`) if codes of an app cannot be checked.
    """
    def work() -> bool:
        locked = Rows(User, user.tenant_id).find(user.id, lock=True)
        factor = None if locked is None else factor_of(locked)
        if factor is None:
            return False
        if _accepts(keys, factor, text):
            return True
        factor.failures += 1
        Rows(SecondFactor, user.tenant_id).save(factor)
        return False

    return database.transact(work)


def use(keys: Keys, user: User, text: str) -> SecondFactor | None:
    """Uses a code in a transaction that has locked the user. Returns the factor; None for a wrong or used code.

    Raises `Problem` (`conflict`) if codes of an app cannot be checked.
    """
    factor = factor_of(user)
    if factor is None or not _accepts(keys, factor, text):
        return None
    factor.failures = 0
    return Rows(SecondFactor, user.tenant_id).save(factor)


def described(text: str) -> str:
    """Describes the use of a code, for the audit event."""
    return "with a recovery code" if len(_bare(text)) == _RECOVERY_CHARACTERS else "with a code"


def confirm(keys: Keys, factor: SecondFactor, text: str) -> bool:
    """Uses the first code of a new factor, which the caller saves. Returns False for a wrong code.

    Raises `Problem` (`conflict`) if codes of an app cannot be checked.
    """
    return _accepts_of_app(keys, factor, _bare(text))


def remove(user: User) -> bool:
    """Deletes the factor of a user, and logins that wait for its code. Returns False if there is none."""
    Rows(LoginChallenge, user.tenant_id).discard(owner_id=user.id)
    return bool(Rows(SecondFactor, user.tenant_id).discard(owner_id=user.id))


def new_recovery_codes() -> list[str]:
    """Returns new recovery codes, to show once: `k7q2mz-4hd6wx-…`."""
    codes = [b32encode(secrets.token_bytes(_RECOVERY_BYTES)).decode().lower() for _ in range(RECOVERY_CODES)]
    return ["-".join(code[start:start + _GROUP] for start in range(0, len(code), _GROUP)) for code in codes]


def stored(codes: Iterable[str]) -> list[str]:
    """Returns the hashes of recovery codes."""
    return [hashed(_bare(code)) for code in codes]


def _accepts(keys: Keys, factor: SecondFactor, text: str) -> bool:
    """True if a code is right. Marks it as used in the row, which is not saved."""
    code = _bare(text)
    if len(code) == _RECOVERY_CHARACTERS:
        rest = [each for each in factor.recovery_codes if not compare_digest(each, hashed(code))]
        is_known = len(rest) < len(factor.recovery_codes)
        factor.recovery_codes = rest
        return is_known
    return _accepts_of_app(keys, factor, code)


def _accepts_of_app(keys: Keys, factor: SecondFactor, code: str) -> bool:
    if factor.failures >= MOST_FAILURES:
        raise Problem("conflict", "Too many wrong codes in a row. Use a recovery code, or ask an administrator to "
                                  "remove the second factor.")
    step = totp.matching_step(_secret(keys, factor), code, factor.last_step)
    if step is None:
        return False
    factor.last_step = step
    return True


def _secret(keys: Keys, factor: SecondFactor) -> str:
    try:
        return decrypt(keys, factor.secret, factor.owner_id)
    except CannotDecrypt:
        with suppress(CannotDecrypt, KeyFileError):
            if keys.refresh():  # they were rotated a moment ago
                return decrypt(keys, factor.secret, factor.owner_id)
    raise Problem("conflict", "Codes of this app cannot be checked any more, because the keys of the service have "
                              "changed. Use a recovery code, or ask an administrator to remove the second factor.")


def _bare(text: str) -> str:
    """Returns a code without the spaces and hyphens that make it readable."""
    return "".join(text.replace("-", "").split()).lower()
