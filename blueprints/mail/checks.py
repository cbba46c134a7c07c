"""Check of the mail server, for `gatepost doctor`."""

from __future__ import annotations

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State

from . import configured, smtp


def check(installation: Installation) -> CheckResult:
    """Checks that the server accepts a connection and the login. Sends nothing."""
    settings = installation.settings
    if not settings.smtp_url:
        return CheckResult(State.OK, "off: smtp_url is not set")
    if missing := configured.missing(settings):
        return CheckResult(State.DEGRADED, f"off: smtp_url is set, but not {' and '.join(missing)}")
    try:
        with smtp.connected(settings):
            return CheckResult(State.OK, "the mail server is ready: gatepost mail test ADDRESS sends a message")
    except smtp.Undelivered as error:
        return CheckResult(State.DEGRADED, str(error))
