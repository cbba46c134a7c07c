"""Values of one type among which each comparison with certain literals, and of several such values, has its answer.

Each function takes the literals and how many values are compared with each other, and gives enough on either side of
each literal, or unlike all of them, for every order in which they can stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from ipaddress import IPv6Network, ip_network
from itertools import islice

from ..syntax.addresses import MAPPED, Network, network, normalized
from ..syntax.vocabulary import date_time
from .clock import parsed

_DAY, _MOMENT = date(2026, 11, 18), datetime(2026, 11, 18, 10, tzinfo=UTC)
_WEEK = 7
_PRIVATE, _LOCAL = ip_network("192.168.0.0/16"), ip_network("fd00::/64")
MOST_TRIED = 1000  # addresses, to find one outside of all networks; beside them stand the neighbours of each network


def person(number: int) -> str:
    """The id of one of the people, or objects, of examples: of a time long before any real one (RFC 9562, UUIDv7)."""
    return f"00000000-0000-7000-8000-{number:012x}"


def numbers(literals: Iterable[int], count: int) -> list[int]:
    """Whole numbers around each literal."""
    found = {literal + step for literal in {*literals} or {0} for step in range(-count, count + 1)}
    return sorted(found, key=lambda number: (abs(number), number))


def dates(literals: Iterable[str], count: int, *, weekdays: bool) -> list[str]:
    """Days (YYYY-MM-DD) around each literal; with `weekdays` a whole week before the first and after each."""
    known = {date.fromisoformat(literal).toordinal() for literal in literals} or {_DAY.toordinal()}
    week = _WEEK if weekdays else 0
    near = {one + step for one in known for step in range(-count, count + week + 1)}
    near |= {min(known) - count - step for step in range(week)}
    return [date.fromordinal(day).isoformat() for day in sorted(near) if 0 < day <= date.max.toordinal()]


def moments(literals: Iterable[str], count: int) -> list[str]:
    """Times (RFC 3339, UTC, microseconds) around each literal."""
    known = {*map(parsed, literals)} or {_MOMENT}
    return sorted({date_time(near) for one in known for near in _around(one, count)})


def ids(literals: Iterable[str], count: int) -> list[str]:
    """Some ids unlike all literals, and the literals."""
    return _unlike({*literals}, count, person)


def texts(literals: Iterable[str], count: int) -> list[str]:
    """The literals, and some texts unlike all of them."""
    known = {*literals}
    fresh = _unlike(known, count, lambda number: f"other-{number}" if number > 1 else "other")
    return [*sorted(known), *fresh[:count]]


def addresses(literals: Iterable[str], networks: Iterable[str], count: int) -> list[str]:
    """The literals, the ends of each network and their neighbours, and some addresses in none of them.

    Only addresses as the service spells them: of an IPv6 network that has IPv4 addresses in it, the others.
    """
    found, ranges = {*literals}, [network(name) for name in networks]
    holes = [MAPPED] if any(isinstance(one, IPv6Network) for one in ranges) else []
    for each in (*ranges, *holes):
        found |= _ends(each, count)
    found = {address for address in found if is_address(address)}
    fresh: list[str] = []
    # Of both kinds: an address of one is in no network of the other, be it as wide as `0.0.0.0/0`.
    for hosts in (_PRIVATE, _LOCAL):
        outside = (str(address) for address in islice(hosts.hosts(), MOST_TRIED)
                   if not any(address in each for each in ranges))
        fresh += islice((address for address in outside if address not in found), count)
    return [*fresh, *sorted(found)]


def is_address(text: str) -> bool:
    """True if a text is an address, IPv4 or IPv6, in the one spelling in which a request has it."""
    return normalized(text) == text


def _ends(network: Network, count: int) -> set[str]:
    """The first and the last addresses of a network, and their neighbours."""
    kind = type(network.network_address)
    first, last = int(network.network_address), int(network.broadcast_address)
    near = {end + step for end in (first, last) for step in range(-count, count + 1)}
    return {str(kind(number)) for number in near if 0 <= number < 2**network.max_prefixlen}


def _unlike(known: set[str], count: int, name: Callable[[int], str]) -> list[str]:
    fresh: Iterator[str] = (word for number in range(1, len(known) + count + 1) if (word := name(number)) not in known)
    return [*(next(fresh) for _ in range(count)), *sorted(known)]


def _around(moment: datetime, count: int) -> Iterator[datetime]:
    for step in range(-count, count + 1):
        with suppress(OverflowError):  # the first and the last year
            yield moment + timedelta(microseconds=step)
