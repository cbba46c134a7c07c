"""Settings that a running service takes over: `settings.toml` is read once more when the process gets SIGHUP.

Which ones can be, their declaration says (`live`). The others, and what the environment or the command line say, need a
restart. A file that is wrong changes nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from settings.declared import DECLARED, Settings
from settings.sources import SettingError
from system.worker import Worker

log = logging.getLogger("gatepost.settings")

STOP_PATIENCE = 1.0  # seconds that a stop waits for the thread: a folder on a mount that hangs may hold it


class LiveSettings:
    """`current` are the values in force: one immutable object, swapped whole, which any thread reads without a lock.

    followers  called with the new values once they are in force, in the order in which they were added
    trouble    why the sources cannot be used as they are now: a sentence for the operator; None for nothing
    """

    def __init__(self, settings: Settings, read: Callable[[], Settings]) -> None:
        """`read` reads all sources anew. It raises SettingError where something is wrong with them."""
        self.current = settings
        self.followers: list[Callable[[Settings], object]] = []
        self.trouble: str | None = None
        self._read = read
        self._worker = Worker("settings", self.reload)

    def reload(self) -> None:
        """Read the sources and take over what can be; the log names what was, and what needs a restart."""
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
        """Have the thread reload. The handler of a signal may call this: it waits for nothing."""
        self._worker.wake()

    def start(self) -> None:
        """Reload on request, in a thread of this process. A second call does nothing."""
        self._worker.start()

    def stop(self) -> None:
        """End the thread. A second call does nothing."""
        self._worker.stop(STOP_PATIENCE)

    def _take_over(self, ours: dict[str, object], theirs: dict[str, object]) -> None:
        """`ours` are new values of Gatepost's own settings, by name; `theirs` of those of plugins."""
        declared = self.current.of_plugins.declared
        live = {name: value for name, value in ours.items() if DECLARED[name].metadata["live"]}
        live_theirs = {name: value for name, value in theirs.items() if declared[name].live}
        taken = [*live, *live_theirs]
        if taken:
            self.current = replace(self.current, **live,  # type: ignore[arg-type]
                                   of_plugins=self.current.of_plugins.with_values(live_theirs))
        # Also of unchanged values: the parent of this process may have been about to call them when it forked.
        for follow in self.followers:
            try:
                follow(self.current)
            except Exception:
                # The values are in force: the other followers need them, too.
                log.exception("not everything goes on with the new settings; a restart does")
        # Names alone: a value may be a secret.
        if taken:
            log.warning("settings are in force as settings.toml has them now: %s", ", ".join(taken))
        if later := {*ours, *theirs}.difference(taken):
            log.warning("settings have changed that need a restart: %s", ", ".join(sorted(later)))
        if not ours and not theirs:
            log.warning("no setting has changed")
