"""Rate limits: cost units a minute, by address before anybody is identified, then by principal.

Counted by the `limits` library, in memory or in Redis when several processes share one limit. Answers
carry `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers); a refusal `Retry-After`.
"""

from __future__ import annotations

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
        self._strategy = FixedWindowRateLimiter(storage_from_string(settings.redis_url or "memory://"))

    def spend(self, limit: RateLimitItem, kind: str, key: str, cost: int = 1) -> dict[str, str]:
        """Take units from a counter; the headers that say what is left.

        Raises `Problem` (`rate_limited`) when there are not enough left; nothing is taken then.
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


def spend_by_address(call: Call) -> None:
    """Take the call's cost from its address."""
    limits = call.services.limits
    limits.spend(limits.by_address, "address", call.request.remote_addr or "-", call.endpoint.cost)


def spend_by_principal(call: Call) -> None:
    """Take the call's cost from who asks; a guest is counted by address alone."""
    if call.principal.kind == "guest":
        return
    limits = call.services.limits
    call.headers.update(limits.spend(limits.by_principal, "principal", call.principal.key, call.endpoint.cost))
