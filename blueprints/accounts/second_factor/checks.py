"""Check of second factors, for `gatepost doctor`."""

from __future__ import annotations

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State
from gatepost.http.security.keys import Keys
from models.tables.second_factor import SecondFactor

from . import totp
from .encryption import CannotDecrypt, decrypt


def check(installation: Installation) -> CheckResult:
    """Checks that codes of the users who have a second factor can be checked. Raises `KeyFileError`, `RowError`."""
    with installation.database.connected():
        rows = [row for row in SecondFactor.each() if row.confirmed_at is not None]
    if not rows:
        return CheckResult(State.OK, "no user has one")
    users = "1 user has one" if len(rows) == 1 else f"{len(rows)} users have one"
    if not totp.is_installed():
        return CheckResult(
            State.DEGRADED,
            f"{users}, and can log in with recovery codes alone, because the extra accounts is not installed: "
            "pip install 'gatepost[accounts]'")
    keys = Keys.load(installation.settings.secret_file)
    if lost := sum(not _can_decrypt(keys, row) for row in rows):
        return CheckResult(
            State.DEGRADED,
            f"{users}; the secrets of {lost} were encrypted with other keys, and they log in with recovery codes alone."
            " Restore the keys: gatepost restore --only-keys FILE. Or remove a factor: gatepost user "
            "remove-second-factor EMAIL")
    return CheckResult(State.OK, users)


def _can_decrypt(keys: Keys, row: SecondFactor) -> bool:
    try:
        decrypt(keys, row.secret, row.owner_id)
    except CannotDecrypt:
        return False
    return True
