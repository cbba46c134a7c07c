"""Settings that passkeys need. Imports no library, so that a service without passkeys loads none."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.parse import urlsplit

from settings import Settings

_LOCAL = "localhost"


def obstacle(settings: Settings) -> str | None:
    """Returns why there are no passkeys although `rp_id` is set, as a clause; None if nothing is wrong."""
    parts = urlsplit(settings.public_url)
    host = parts.hostname or ""
    if not host:
        return "rp_id is set, but not public_url"
    if parts.scheme != "https" and host != _LOCAL:
        return "public_url must begin with https:// (or be http://localhost for development)"
    if host != settings.rp_id and not host.endswith(f".{settings.rp_id}"):
        return f"rp_id {settings.rp_id} is neither the host of public_url, {host}, nor a domain above it"
    if find_spec("webauthn") is None:
        return "the extra `passkeys` is not installed: pip install 'gatepost[passkeys]'"
    return None


def is_on(settings: Settings) -> bool:
    """True if users can log in with passkeys."""
    return bool(settings.rp_id) and obstacle(settings) is None


def origin(settings: Settings) -> str:
    """Returns the origin of the pages, by `public_url` and never by the `Host` of a request."""
    parts = urlsplit(settings.public_url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    port = "" if parts.port in (None, default) else f":{parts.port}"
    return f"{parts.scheme}://{parts.hostname}{port}"
