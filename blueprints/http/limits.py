"""Rate limits: cost units a minute, by address before anybody is identified, then by principal.

Guessing is counted more tightly: wrong passwords per address and per account, before anything is hashed, and
requests of endpoints marked `tight` per address. A window lasts a minute, so nobody is locked out for good.

Counted by the `limits` library, in memory or in Redis when several processes share one limit. Answers
carry `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers); a refusal `Retry-After`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from time import time
from typing import TYPE_CHECKING

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import storage_from_string
from limits.strategies import FixedWindowRateLimiter

from .call import Call
from .errors import Problem

if TYPE_CHECKING:
    from settings import Settings


class Limits:
    """The counters of one app."""

    def __init__(self, settings: Settings) -> None:
        self.enabled = settings.rate_limits
        self.by_address = RateLimitItemPerMinute(settings.address_units)
        self.by_principal = RateLimitItemPerMinute(settings.principal_units)
        self.by_login = RateLimitItemPerMinute(settings.login_attempts)
        self._storage = storage_from_string(settings.redis_url or "memory://")
        self._strategy = FixedWindowRateLimiter(self._storage)

    def spend(self, limit: RateLimitItem, kind: str, key: str, cost: int = 1) -> dict[str, str]:
        """Take units from a counter; the headers that say what is left.

        Raises `Problem` (`rate_limited`) when there are not enough left.
        """
        if not self.enabled:
            return {}
        allowed = self._strategy.hit(limit, kind, key, cost=cost)
        window = self._strategy.get_window_stats(limit, kind, key)
        wait = max(1, ceil(window.reset_time - time()))
        headers = {"RateLimit-Policy": f'"{kind}";q={limit.amount};w=60',
                   "RateLimit": f'"{kind}";r={max(0, window.remaining)};t={wait}'}
        if not allowed:
            raise Problem("rate_limited", f"Try again in {wait} s.", headers={**headers, "Retry-After": str(wait)})
        return headers


    @contextmanager
    def guessing(self, *whose: str) -> Iterator[None]:
        """Count one guess of a secret for each of `whose`; given back unless it turns out wrong (a `Problem`).

        Raises `Problem` (`rate_limited`) without running the body when there were too many.
        """
        for key in whose:
            self.spend(self.by_login, "guesses", key)
        try:
            yield
        except Problem:
            raise
        except BaseException:
            self._give_back(whose)
            raise
        self._give_back(whose)

    def _give_back(self, whose: tuple[str, ...]) -> None:
        if self.enabled:
            for key in whose:
                counter = self.by_login.key_for("guesses", key)
                self._storage.incr(counter, self.by_login.get_expiry(), amount=-1)


def spend_by_address(call: Call) -> None:
    """Take the call's cost from its address, and one attempt where those are counted."""
    limits, address = call.services.limits, call.request.remote_addr or "-"
    limits.spend(limits.by_address, "address", address, call.endpoint.cost)
    if call.endpoint.tight:
        limits.spend(limits.by_login, call.endpoint.name, address)


def spend_by_principal(call: Call) -> None:
    """Take the call's cost from who asks; a guest is counted by address alone."""
    if call.principal.kind == "guest":
        return
    limits = call.services.limits
    call.headers.update(limits.spend(limits.by_principal, "principal", call.principal.key, call.endpoint.cost))
