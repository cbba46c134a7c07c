"""Settings that mail needs. Imports nothing of SMTP, so that a service without mail does not load it."""

from __future__ import annotations

from settings import Settings


def missing(settings: Settings) -> list[str]:
    """Returns the names of the settings without which no mail is sent; empty: mail is on."""
    return [name for name in ("smtp_url", "mail_from", "public_url") if not getattr(settings, name)]


def is_on(settings: Settings) -> bool:
    """True if the service sends mail."""
    return not missing(settings)
