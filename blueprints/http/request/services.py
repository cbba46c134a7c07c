"""What one app is made of: the long-lived objects that every request works with."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask import current_app

from ..operations.slots import Slots, half

if TYPE_CHECKING:
    from models.engine.database import Database
    from policies.loading.watch import Watcher
    from settings import Settings

    from ..operations.background import Background
    from ..operations.deprecation import DeprecatedUses
    from ..operations.limits import Limits
    from ..operations.metrics import Metrics
    from ..operations.ownership import Ownership
    from ..protocol.messages import Translations
    from ..resources.collection import Collection
    from ..resources.registry import Registry
    from ..security.access_tokens import Tokens
    from ..security.cursors import Cursors
    from ..security.keys import Keys
    from .trail import Trail


class NotReady(Exception):
    """The instance cannot be served yet; the sentence says which command mends that."""


def threads_of(settings: Settings) -> int:
    """Requests that one process handles at a time.

    On Postgres more threads would only wait for a connection; SQLite opens as many as are used at once.
    """
    on_sqlite = settings.database_url.startswith("sqlite:")
    return settings.threads if on_sqlite else min(settings.threads, settings.pool_size)


@dataclass
class Services:
    """Made once by `create_app`; handlers reach it as `call.services`, commands through `services()`.

    guest_tenant  id of the tenant in which callers without credentials act
    long_answers  those that are being sent; half of the threads are for others
    large_bodies  those that are being read, by address
    """

    settings: Settings
    database: Database
    policy: Watcher
    keys: Keys
    tokens: Tokens
    cursors: Cursors
    limits: Limits
    ownership: Ownership
    registry: Registry
    guest_tenant: str
    trail: Trail
    background: Background
    deprecated_uses: DeprecatedUses
    translations: Translations
    metrics: Metrics | None = None
    _process: int = 0

    def __post_init__(self) -> None:
        few = half(self.threads)
        self.long_answers, self.large_bodies = Slots(few), Slots(few)

    @property
    def threads(self) -> int:
        """Requests that one process handles at a time."""
        return threads_of(self.settings)

    @property
    def collections(self) -> Mapping[str, Collection]:
        """Every collection by its plural name, such as `articles`."""
        return self.registry.collections

    def ensure_running(self) -> None:
        """Start what runs beside the requests, once per process: a server may fork after the app was made."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self.policy.start()
            self.background.start()
            # A process that ends by itself still stores what it has to tell.
            atexit.register(self.stop)

    def stop(self) -> None:
        """End what runs beside the requests, store what waits, and let the connections go."""
        atexit.unregister(self.stop)
        self._process = 0
        self.policy.stop()
        self.background.stop()
        self.database.close_all()


def services() -> Services:
    """The services of the current app."""
    found: Services = current_app.extensions["gatepost"]
    return found
