"""Check for `gatepost doctor` where the setting `without` names accounts: what is stored of logins does not count."""

from __future__ import annotations

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State
from models.tables.identity import Identity
from models.tables.passkey import Passkey
from models.tables.second_factor import SecondFactor


def check(installation: Installation) -> CheckResult:
    """Counts second factors, passkeys and identities."""
    with installation.database.connected():
        factors, identities = SecondFactor.confirmed(), Identity.number()
        passkeys = sum(Passkey.by_domain(installation.database).values())
    findings = []
    if factors:
        findings.append(f"{factors} {'user logs' if factors == 1 else 'users log'} in without the code of their second "
                        "factor: the password alone is enough")
    if passkeys or identities:
        findings.append(f"nobody can log in with one of {passkeys} passkeys and {identities} identities at providers")
    if not findings:
        return CheckResult(State.OK, "left out (setting without)")
    return CheckResult(State.DEGRADED, f"left out, so {', and '.join(findings)}. Take accounts out of the setting "
                                       "without")
