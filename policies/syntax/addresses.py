"""Network addresses in one spelling: all that compares, counts or keeps an address takes it from `normalized`.

A socket of both protocols says `::ffff:203.0.113.7` of an IPv4 client, some proxies say `203.0.113.7:443` or
`[2001:db8::1]:443`, and a link-local address ends in the name of an interface: `fe80::1%eth0`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

LONGEST = 64  # characters of a text that is read as an address
MAPPED = IPv6Network("::ffff:0:0/96")  # IPv4 addresses, as IPv6 writes them: no normalized address is one
_DECORATED = re.compile(r"\[([^\[\]]+)\](?::\d{1,5})?|([\d.]+):\d{1,5}", re.ASCII)

Network = IPv4Network | IPv6Network


def normalized(text: str | None) -> str | None:
    """The address that a text names: without port, brackets and zone, IPv4 as such, IPv6 as RFC 5952 writes it.

    None for what is no address.
    """
    return None if text is None or len(text) > LONGEST else _normalized(text)


@lru_cache(maxsize=4096)
def _normalized(text: str) -> str | None:
    decorated = _DECORATED.fullmatch(text)
    try:
        address = ip_address(text if decorated is None else decorated[1] or decorated[2])
    except ValueError:
        return None
    if isinstance(address, IPv6Address):
        # The number of an address has no zone.
        return str(address.ipv4_mapped or IPv6Address(int(address)))
    return str(address)


@lru_cache(maxsize=1024)
def network(text: str) -> Network:
    """The network that a rule names; a single address is a network, too. Raises ValueError."""
    return ip_network(text, strict=False)


def unmapped(mapped: Network) -> Network | None:
    """The IPv4 network that an IPv6 one is written for (`::ffff:10.0.0.0/104`); None where it is no such one."""
    if not isinstance(mapped, IPv6Network) or not mapped.subnet_of(MAPPED):
        return None
    return IPv4Network((int(mapped.network_address) & 0xFFFF_FFFF, mapped.prefixlen - MAPPED.prefixlen))


@lru_cache(maxsize=4096)
def within(address: str | None, name: str) -> bool:
    """True if a normalized address is in the network that a rule names."""
    try:
        return address is not None and ip_address(address) in network(name)
    except ValueError:
        return False
