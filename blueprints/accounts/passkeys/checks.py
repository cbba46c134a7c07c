"""Check of passkeys, for `gatepost doctor`."""

from __future__ import annotations

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State
from models.tables.passkey import Passkey

from . import configured


def check(installation: Installation) -> CheckResult:
    """Checks the settings, and counts passkeys of another domain, which no browser shows any more."""
    settings = installation.settings
    with installation.database.connected():
        numbers = Passkey.by_domain(installation.database)
    orphans = {rp_id: number for rp_id, number in numbers.items() if rp_id != settings.rp_id}
    lost = "; ".join(f"{number} {'passkey' if number == 1 else 'passkeys'} of {rp_id}" for rp_id, number in
                     orphans.items())
    if settings.rp_id and (obstacle := configured.obstacle(settings)) is not None:
        return CheckResult(State.DEGRADED, f"off: {obstacle}")
    if lost:
        return CheckResult(State.DEGRADED, f"cannot be used, because rp_id is {settings.rp_id or 'not set'}: {lost}")
    if not settings.rp_id:
        return CheckResult(State.OK, "off: rp_id is not set")
    return CheckResult(State.OK, f"on, for {settings.rp_id}")
