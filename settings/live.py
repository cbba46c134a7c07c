"""Live settings: a running service rereads `settings.toml` on SIGHUP and takes over their new values.

The declaration of a setting says if it is `live`. Other settings, and those in the environment or on the command line,
need a restart. A file with an error changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from settings.declared import DECLARED, Settings
from settings.sources import SettingError
from system.worker import Worker

log = logging.getLogger("gatepost.settings")

STOP_PATIENCE = 1.0  # seconds that a stop waits for the thread, which may hang on a network mount


class LiveSettings:
    """The current settings, and the thread that rereads them.

    current    one immutable object, replaced as a whole; threads read it without a lock
    followers  functions that are called with the new settings after a change, in the order of registration
    trouble    a sentence for the operator about why the sources cannot be used now; None if they can
    """

    def __init__(self, settings: Settings, read: Callable[[], Settings]) -> None:
        """Stores the settings. `read` rereads all sources, and raises SettingError if they have an error."""
        self.current = settings
        self.followers: list[Callable[[Settings], object]] = []
        self.trouble: str | None = None
        self._read = read
        self._worker = Worker("settings", self.reload)

    def reload(self) -> None:
        """Rereads the sources and takes over live settings. Logs the names of changes, and of those needing a restart.
        """
        try:
            new = self._read()
        except SettingError as error:
            self.trouble = str(error)
            log.error("the settings stay as they are, because the new ones are wrong:\n%s", error)
            return
        self.trouble = None
        self._take_over({name: getattr(new, name) for name in DECLARED
                         if getattr(new, name) != getattr(self.current, name)},
                        self.current.of_plugins.changed(new.of_plugins))

    def look_soon(self) -> None:
        """Makes the thread reload. It never blocks, so a signal handler may call it."""
        self._worker.wake()

    def start(self) -> None:
        """Starts the thread in this process. A second call does nothing."""
        self._worker.start()

    def stop(self) -> None:
        """Stops the thread. A second call does nothing."""
        self._worker.stop(STOP_PATIENCE)

    def _take_over(self, ours: dict[str, object], theirs: dict[str, object]) -> None:
        """Replaces `current`. `ours` are changed values of Gatepost's settings by name, `theirs` those of plugins."""
        declared = self.current.of_plugins.declared
        live = {name: value for name, value in ours.items() if DECLARED[name].metadata["live"]}
        live_theirs = {name: value for name, value in theirs.items() if declared[name].live}
        applied = [*live, *live_theirs]
        if applied:
            self.current = replace(self.current, **live,  # type: ignore[arg-type]
                                   of_plugins=self.current.of_plugins.with_values(live_theirs))
        # Called even without a change, because this process may have been forked before its parent called them.
        for follow in self.followers:
            try:
                follow(self.current)
            except Exception:
                # The values are in force: the other followers need them, too.
                log.exception("a part of the service does not use the new settings; restart it")
        # Log only names, because a value may be a secret.
        if applied:
            log.warning("settings are in force as settings.toml has them now: %s", ", ".join(applied))
        if later := {*ours, *theirs}.difference(applied):
            log.warning("settings have changed that need a restart: %s", ", ".join(sorted(later)))
        if not ours and not theirs:
            log.warning("no setting has changed")
