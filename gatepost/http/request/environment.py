"""Environment of a request (`r.env`): facts for conditions, apart from the caller and the object.

Each value is computed once, when a condition first reads it. Most policies read none.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from flask import Request

from policies.syntax.vocabulary import date_time

_TABLET = re.compile(r"ipad|tablet|kindle|silk|playbook|android(?!.*mobile)", re.IGNORECASE)
_MOBILE = re.compile(r"mobi|iphone|ipod|android", re.IGNORECASE)
_BOT = re.compile(r"bot\b|bot/|crawl|spider|slurp", re.IGNORECASE)
_DESKTOP = re.compile(r"windows nt|macintosh|x11|cros", re.IGNORECASE)


class RequestEnvironment:
    """`Environment` of one request. Times are in the setting `time_zone`, except `now`, which is UTC."""

    def __init__(self, request: Request, time_zone: ZoneInfo) -> None:
        self._request = request
        self._time_zone = time_zone

    @cached_property
    def _now(self) -> datetime:
        return datetime.now(self._time_zone)

    @cached_property
    def hour(self) -> int:
        return self._now.hour

    @cached_property
    def weekday(self) -> int:
        return self._now.isoweekday()

    @cached_property
    def date(self) -> str:
        return self._now.date().isoformat()

    @cached_property
    def now(self) -> str:
        return date_time(self._now)

    @cached_property
    def ip(self) -> str | None:
        return self._request.remote_addr

    @cached_property
    def method(self) -> str:
        return self._request.method

    @cached_property
    def request(self) -> str:
        return "read" if self._request.method in ("GET", "HEAD") else "write"

    @cached_property
    def device(self) -> str:
        agent = self._request.headers.get("User-Agent", "")
        for name, pattern in (("bot", _BOT), ("tablet", _TABLET), ("mobile", _MOBILE), ("desktop", _DESKTOP)):
            if pattern.search(agent):
                return name
        return "other"
