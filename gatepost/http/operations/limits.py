"""Rate limits: cost units a minute, by address before the caller is identified, then by principal.

Guesses have tighter limits, checked before any hash. Wrong passwords are counted by network, across all accounts, and
more loosely by account: one network alone cannot lock an account, and networks of recent logins are exempt. Requests
of endpoints marked `tight` are counted by network. A window lasts a minute.

Bytes of a body cost units as well. Contact messages and new accounts are counted by the day.

Every answer names the limit that its caller will reach first, in `RateLimit-Policy` and `RateLimit`
(draft-ietf-httpapi-ratelimit-headers-10); a refusal adds `Retry-After`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from hashlib import blake2b
from ipaddress import ip_network
from math import ceil, inf
from typing import TYPE_CHECKING, NamedTuple

from flask import request

from policies.syntax.addresses import normalized

from ..protocol.answer_headers import carry
from ..protocol.messages import Message
from ..protocol.problems import Problem
from .counters import DAY, MINUTE, Counters, OwnCounters

if TYPE_CHECKING:
    from policies import Principal
    from settings import Settings

JSON_PIECE = 16 * 2**10  # bytes of a body of JSON that cost a unit, beyond the first so many
IMPORT_PIECE = 64 * 2**10  # bytes of an import that cost a unit
UNREADABLE = "unusable"  # in place of an unreadable address: all of them count as one caller
DAILY = 50  # contact messages, and new accounts, of one address in a day
MOST_KEPT = 16 * 2**20  # bytes of answers that one process stores for a principal in a day, for repeated requests
SESSION = 10  # units that a login or refresh takes from the user: each stores rows
ACCOUNT_FACTOR = 10  # times as many wrong passwords for one account, from all networks together, as from one network
_REMAINING = "gatepost.left"  # units that the nearest limit of a request leaves


class Quota(NamedTuple):
    """Limit of units in a number of seconds; `name` is its name in the headers."""

    name: str
    units: int
    seconds: int = MINUTE


class TooManyGuesses(Problem):
    """Refusal (`rate_limited`) after too many guesses of a secret. This guess was not checked."""


class Quotas(NamedTuple):
    """Limits of the settings; replaced as a whole when they change. Counts of the current minute stay."""

    enabled: bool
    address: Quota
    principal: Quota
    roles: Mapping[str, Quota]
    guesses: Quota
    guesses_of_account: Quota


class Limits:
    """Quotas and counters of one app."""

    def __init__(self, settings: Settings) -> None:
        self.follow(settings)
        self._counters = Counters(settings.redis_url)
        self._stored_bytes = OwnCounters()

    def follow(self, settings: Settings) -> None:
        """Applies new settings."""
        self._quotas = Quotas(
            enabled=settings.rate_limits,
            address=Quota("address", settings.address_units),
            principal=Quota("principal", settings.principal_units),
            roles={role: Quota("principal", units) for role, units in settings.role_units.items()},
            guesses=Quota("guesses", settings.login_attempts),
            guesses_of_account=Quota("account", ACCOUNT_FACTOR * settings.login_attempts))

    @property
    def state(self) -> str:
        """State for the health check: `ok`, or `degraded` while the counters should be shared but are not."""
        return "degraded" if self._counters.degraded else "ok"

    def spend_of_address(self, address: str, cost: int) -> None:
        """Takes units from an address. Raises `Problem` (`rate_limited`)."""
        self._spend(self._quotas.address, network_of(address), cost)

    def spend_of_principal(self, principal: Principal, cost: int) -> None:
        """Takes units from a user, or from all service tokens of a user together. Raises `Problem` (`rate_limited`)."""
        self._spend(self._quota(principal), _account(principal), cost)

    def give_back(self, principal: Principal | None, address: str, cost: int) -> None:
        """Returns all units of a call except one to its address, and to its principal unless that is a guest."""
        spent = [(self._quotas.address, network_of(address))]
        if principal is not None and principal.kind != "guest":
            spent.append((self._quota(principal), _account(principal)))
        request.environ.pop(_REMAINING, None)
        for quota, key in spent:
            with suppress(Problem):  # other calls may have exceeded the quota
                self._spend(quota, key, 1 - min(cost, quota.units))

    def spend_of_session(self, principal: Principal) -> None:
        """Takes the cost of a login or refresh. Raises `Problem` (`rate_limited`).

        The cost is at most half of a minute's units, so that a new session can make requests.
        """
        self.spend_of_principal(principal, min(SESSION, self._quota(principal).units // 2))

    def spend_by_size(self, principal: Principal, address: str, size: int, spent: int = 0, *, cost: int) -> int:
        """Takes a unit for each `IMPORT_PIECE` of a body of at least `size` bytes. Returns the units taken so far.

        Counts those that were `taken` before. Takes at most what a full quota leaves after the call's own `cost`, so
        that every body that the settings allow can be sent once a minute. If it raises `Problem` (`rate_limited`), it
        takes no unit, and the caller may still send cheaper requests.
        """
        quota = self._quotas.address if principal.kind == "guest" else self._quota(principal)
        key = payer(principal, address)
        due = min(ceil(size / IMPORT_PIECE), quota.units - cost) - spent
        if due <= 0:
            return spent
        try:
            self._spend(quota, key, due)
        except Problem:
            self._counters.add(f"{quota.name}/{key}", -due, quota.seconds)
            raise
        return spent + due

    def attempt(self, name: str, address: str) -> None:
        """Counts one use of a tight endpoint by an address. Raises `Problem` (`rate_limited`)."""
        self._spend(Quota(name, self._quotas.guesses.units), network_of(address), 1)

    def spend_of_day(self, name: str, address: str) -> Callable[[], None]:
        """Counts one of the `DAILY` uses that an address has a day. Returns a function that undoes the count.

        If it raises `Problem` (`rate_limited`), it counts nothing.
        """
        counted = ((Quota(f"{name}_day", DAILY, DAY), network_of(address)),)
        try:
            self._spend(*counted[0], 1)
        except Problem:
            self._give_back(counted)
            raise
        return partial(self._give_back, counted)

    def within(self, name: str, key: str, most: int, seconds: int) -> bool:
        """Counts one use of a key. Returns False after `most` in that time, which no header of the answer shows."""
        if not self._quotas.enabled:
            return True
        hashed = blake2b(key.encode(), digest_size=16).hexdigest()
        return self._counters.add(f"{name}/{hashed}", 1, seconds)[0] <= most

    def may_keep(self, principal: Principal, size: int) -> bool:
        """True if an answer of `size` bytes may be stored for its caller, given the answers of the last day."""
        # Counted in this process: the caller holds a transaction, which must not wait for another server.
        return not self._quotas.enabled or self._stored_bytes.add(principal.key, size, DAY)[0] <= MOST_KEPT

    @contextmanager
    def guessing(self, account: str, address: str, origins: Callable[[], Iterable[str]]) -> Iterator[None]:
        """Counts one guess of an account's secret. Undoes the count unless the body raises `Problem`.

        `origins` returns the addresses of recent successful logins. It is called after too many guesses of this
        account: networks of these addresses may still try. Raises `TooManyGuesses`, without running the body, after too
        many guesses.
        """
        network = network_of(address)
        # By network first, so that a client that guesses many accounts does not create a counter for each.
        hashed = blake2b(account.encode(), digest_size=16).hexdigest()
        quotas = self._quotas
        counted = (quotas.guesses, network), (quotas.guesses_of_account, hashed)
        try:
            self._spend(*counted[0], 1)
            self._spend(*counted[1], 1, excused=lambda: network in map(network_of, origins()))
        except Problem as problem:
            raise TooManyGuesses(problem.code, problem.detail, headers=problem.headers) from None
        try:
            yield
        except Problem:
            raise
        except BaseException:
            self._give_back(counted)
            raise
        self._give_back(counted)

    def _quota(self, principal: Principal) -> Quota:
        quotas = self._quotas
        return quotas.roles.get("service" if principal.kind == "service" else principal.role, quotas.principal)

    def _give_back(self, counted: Iterable[tuple[Quota, str]]) -> None:
        if self._quotas.enabled:
            for quota, key in counted:
                self._counters.add(f"{quota.name}/{key}", -1, quota.seconds)

    def _spend(self, quota: Quota, key: str, cost: int, excused: Callable[[], bool] | None = None) -> None:
        if not self._quotas.enabled:
            return
        # A cost above the quota takes the whole quota, so that large bodies stay possible.
        used, ends = self._counters.add(f"{quota.name}/{key}", min(cost, quota.units), quota.seconds)
        remaining, wait = quota.units - used, max(1, ceil(ends))
        if remaining < 0 and excused is not None and excused():
            return
        environ = request.environ
        # Another limit may be closer; the one that refuses comes last.
        if remaining < environ.get(_REMAINING, inf):
            environ[_REMAINING] = remaining
            carry(environ, {"RateLimit-Policy": f'"{quota.name}";q={quota.units};w={quota.seconds}',
                            "RateLimit": f'"{quota.name}";r={max(0, remaining)};t={wait}'})
        if remaining < 0:
            raise Problem("rate_limited", Message("Try again in {seconds} s.", seconds=wait),
                          headers={"Retry-After": str(wait)})


def payer(principal: Principal, address: str) -> str:
    """Returns the counter's key of a caller: the principal, or the network of a guest."""
    return network_of(address) if principal.kind == "guest" else _account(principal)


def network_of(address: str) -> str:
    """Returns the key by which an address is counted: itself, or the network of an IPv6 address.

    One IPv6 customer has at least 2⁶⁴ addresses (RFC 6177).
    """
    readable = normalized(address)
    return UNREADABLE if readable is None else _network(readable) if ":" in readable else readable


def _account(principal: Principal) -> str:
    return f"{principal.kind}:{principal.id}"


@lru_cache(maxsize=4096)
def _network(address: str) -> str:
    return str(ip_network(f"{address}/64", strict=False))
