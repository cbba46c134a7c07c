"""Check of the mail server, for `gatepost doctor`."""

from __future__ import annotations

from gatepost.features import Installation
from gatepost.health.check_result import CheckResult, State

from ..password_links import links
from . import configured, smtp, verifications


def check(installation: Installation) -> CheckResult:
    """Checks that the server accepts a connection and the login, and that links lead to a page. Sends nothing."""
    settings = installation.settings
    if not settings.smtp_url:
        return CheckResult(State.OK, "off: smtp_url is not set")
    if missing := configured.missing(settings):
        return CheckResult(State.DEGRADED, f"off: smtp_url is set, but not {' and '.join(missing)}")
    try:
        with smtp.connected(settings):
            pass
    except smtp.Undelivered as error:
        return CheckResult(State.DEGRADED, str(error))
    if not settings.console or "console" in settings.without:
        return CheckResult(
            State.DEGRADED,
            "the mail server is ready, but the links in messages lead to pages of the console, which is off. "
            f"Turn it on, or serve {links.PAGE} and {verifications.PAGE} yourself, below public_url: the API takes "
            "their tokens")
    return CheckResult(State.OK, "the mail server is ready: gatepost mail test ADDRESS sends a message")
