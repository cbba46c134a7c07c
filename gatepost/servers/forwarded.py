"""The client's network, for limits that a server applies itself, before `ProxyFix` has set the address."""

from __future__ import annotations

from werkzeug.http import parse_list_header

from ..http.operations.limits import network_of


def client_network(peer: str, forwarded_for: str, trusted_proxies: int) -> str:
    """The network of the client who speaks to us as `peer`, or through so many proxies (`X-Forwarded-For`)."""
    through = parse_list_header(forwarded_for) if trusted_proxies else []
    return network_of(through[-trusted_proxies] if len(through) >= trusted_proxies > 0 else peer)
