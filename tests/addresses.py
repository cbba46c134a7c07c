"""The forms in which a socket, a proxy or a user writes an address."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

Address = IPv4Address | IPv6Address


def _four(write: Callable[[IPv4Address], str]) -> Callable[[Address], str]:
    """Returns an IPv4 address in this form. Other addresses are unchanged."""
    return lambda address: write(address) if isinstance(address, IPv4Address) else str(address)


def _six(write: Callable[[str], str]) -> Callable[[Address], str]:
    """Returns an address in this IPv6 form; an IPv4 address is mapped."""
    return lambda address: write(f"::ffff:{address}" if isinstance(address, IPv4Address) else str(address))


FORMS: tuple[Callable[[Address], str], ...] = (
    str,
    _four(lambda address: f"{address}:443"),
    _four(lambda address: f"::FFFF:{int(address) >> 16:X}:{int(address) & 0xFFFF:X}"),
    _six(str),
    _six(str.upper),
    _six(lambda address: f"[{address}]"),
    _six(lambda address: f"[{address}]:65535"),
    _six(lambda address: f"{address}%eth0"),
    _six(lambda address: f"[{address}%eth0]:1"),
    lambda address: address.exploded,
)
UNREADABLE = ("unknown", "_proxy7", "client.example.org", "203.0.113.7.1", "2001:db8::1::2", "9" * 70, "203.0.113.07")
