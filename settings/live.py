"""Settings that a running service takes over: `settings.toml` is read once more when the process gets SIGHUP.

Which ones can be, their declaration says (`live`). The others, and what the environment or the command line say, need a
restart. A file that is wrong changes nothing.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Lock, Thread

from settings.declared import DECLARED, Settings
from settings.sources import SettingError

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
        self._changing = Lock()
        self._asked = self._done = 0  # times
        self._awake, self._stopping = Event(), False
        self._thread: Thread | None = None
        self._process = 0

    def reload(self) -> None:
        """Read the sources and take over what can be; the log names what was, and what needs a restart."""
        with self._changing:
            try:
                found = self._read()
            except SettingError as error:
                self.trouble = str(error)
                log.error("the settings stay as they are, because the new ones are wrong:\n%s", error)
                return
            self.trouble = None
            self._take_over({name: getattr(found, name) for name in DECLARED
                             if getattr(found, name) != getattr(self.current, name)},
                            self.current.of_plugins.changed(found.of_plugins))

    def look_soon(self) -> None:
        """Let the thread reload. It waits for nothing: the handler of a signal may call it."""
        self._asked += 1
        self._awake.set()

    def start(self) -> None:
        """Reload when asked, in a thread of this process; a second call does nothing."""
        if self._process == os.getpid():
            return
        self._process = os.getpid()
        # Of this process alone: a thread may have held these locks, or have been about to call the followers, when the
        # process was forked.
        self._awake, self._changing, self._stopping = Event(), Lock(), False
        if self._asked:
            self._tell_followers()
        if self._asked != self._done:
            self._awake.set()
        self._thread = Thread(target=self._run, name="settings", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread; a second call does nothing."""
        if self._process != os.getpid():
            return
        self._process, self._stopping = 0, True
        self._awake.set()
        if self._thread is not None:
            self._thread.join(STOP_PATIENCE)

    def _run(self) -> None:
        awake = self._awake
        while True:
            awake.wait()
            awake.clear()
            if self._stopping:
                return
            asked = self._asked
            try:
                self.reload()
            except Exception:
                log.exception("the settings could not be read; they stay as they are")
            self._done = asked

    def _take_over(self, ours: dict[str, object], theirs: dict[str, object]) -> None:
        """`ours` are new values of Gatepost's own settings, by name; `theirs` of those of plugins."""
        declared = self.current.of_plugins.declared
        live = {name: value for name, value in ours.items() if DECLARED[name].metadata["live"]}
        live_theirs = {name: value for name, value in theirs.items() if declared[name].live}
        taken = [*live, *live_theirs]
        if taken:
            self.current = replace(self.current, **live,  # type: ignore[arg-type]
                                   of_plugins=self.current.of_plugins.with_values(live_theirs))
            self._tell_followers()
        # Names alone: a value may be a secret.
        if taken:
            log.warning("settings are in force as settings.toml has them now: %s", ", ".join(taken))
        if later := {*ours, *theirs}.difference(taken):
            log.warning("settings have changed that need a restart: %s", ", ".join(sorted(later)))
        if not ours and not theirs:
            log.warning("no setting has changed")

    def _tell_followers(self) -> None:
        for follow in self.followers:
            try:
                follow(self.current)
            except Exception:
                # The values are in force: the others must have them, too, and a reload finds nothing changed.
                log.exception("not everything goes on with the new settings; a restart does")
