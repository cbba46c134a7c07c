"""The ways in which a policy comes into force, and the entry that the policy history should have for each."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gatepost.rules.history import WAITING
from models.engine.database import Database
from models.tables import policy_version
from models.tables.policy_version import ACCEPT, COMMAND, FILES, HTTP, REVERT, START
from policies.loading.loader import digest
from tests.policies.editing import add_line
from tests.running import Instance, Served, wait_until

RULES, EXTRA, MODEL = "shop.csv", "shop_of_support.csv", "model.conf"
DEAREST = 10_000
SURELY = 6  # consecutive answers after which both workers use a policy
_CHEAP = "    p.when == 'cheap' && r.obj.price < {price} || \\\n"
_BROKEN = "p, user, prduct.create, always, allow"
_LINES = ("p, user, product.create, always, allow", "p, user, product.update, cheap, allow",
          "p, user, product.delete, cheap, allow", "p, guest, product.view, always, allow",
          "p, user, product.view, cheap, allow", "p, support, product.update, always, allow",
          "p, support, product.delete, always, allow", "p, user, article.view, always, allow")


class Expected(NamedTuple):
    """The expected entry of the policy history for one change: the version of the files, and the cause."""

    version: str
    cause: str
    late: bool = False


def version_of(folder: Path) -> str:
    """The version of the policy files in a folder."""
    return digest({file.name: file.read_bytes() for file in folder.iterdir() if file.suffix in (".csv", ".conf")})


@dataclass
class Serving:
    """A server that can be restarted: `now` is the running one, None if none runs."""

    instance: Instance
    arguments: tuple[str, ...]
    now: Served | None = None
    _running: AbstractContextManager[Served] | None = None

    def start(self) -> None:
        self._running = self.instance.served(*self.arguments)
        self.now = self._running.__enter__()

    def url(self) -> str | None:
        """The URL of the server; None if it does not run."""
        return None if self.now is None else self.now.url

    def stop(self) -> None:
        self.now, running, self._running = None, self._running, None
        if running is not None:
            running.__exit__(None, None, None)


@dataclass
class Ways:
    """Changes the policy of one instance, one way after the other. `told` has the expected entries of the history.

    fails   a context manager in which the database fails
    people  keys of users that rules name
    """

    serving: Serving
    database: Database
    fails: Callable[[], AbstractContextManager[None]]
    people: list[str]
    chance: random.Random
    scratch: Path
    told: list[Expected] = field(default_factory=list)
    rounds: int = 0
    _token: str = ""

    @property
    def folder(self) -> Path:
        return self.serving.instance.folder / "policies"

    def go_round(self, ways: Sequence[Way], say: Callable[[str], None]) -> None:
        """Goes each of these ways once, in any order. Calls `say` for each."""
        for way in self.chance.sample(ways, len(ways)):
            way(self)
            say(f"{way.__name__.replace('_', ' ')}: {self.told[-1].version}")
        self.rounds += 1

    def version(self) -> str:
        """The version of the files in the folder."""
        return version_of(self.folder)

    def enter(self, begun: str) -> None:
        """Logs in, and records the policies of `init`, with the version `begun`, and of the start."""
        assert self.serving.now is not None
        self._token = self.serving.now.log_in()
        self.told.append(Expected(begun, START))
        self._note(START)

    # The ways

    def edit_a_file(self) -> None:
        (self.folder / RULES).write_text(self._rules())
        self._note(FILES)

    def edit_the_model(self) -> None:
        self._edit_the_model()
        self._note(FILES)

    def add_and_lose_a_file(self) -> None:
        """Adds a file, and removes it, which is a broken edit. Then the operator accepts the removal."""
        (self.folder / EXTRA).write_text("p, support, product.*, cheap, allow\n# end\n")
        self._note(FILES)
        (self.folder / EXTRA).unlink()
        self._wait_until_broken()
        self._run("accept")
        self._note(ACCEPT)

    def apply_a_folder(self) -> None:
        trial = self.scratch / "trial"
        shutil.rmtree(trial, ignore_errors=True)
        shutil.copytree(self.folder, trial)
        (trial / RULES).write_text(self._rules())
        self._run("apply", str(trial))
        self._note(COMMAND)

    def revert(self) -> None:
        present = self.version()
        versions = sorted({one.version for one in self.told} - {present})
        if not versions:
            self.edit_a_file()
            versions = [present]
        version = self.chance.choice(versions)
        self._run("revert", version)
        self._note(REVERT)
        assert self.told[-1].version == version

    def apply_over_http(self) -> None:
        self._apply_over_http()
        self._note(HTTP)

    def hang_up(self) -> None:
        """Edits a file and sends the service SIGHUP."""
        (self.folder / RULES).write_text(self._rules())
        assert self.serving.now is not None
        self.serving.now.process.send_signal(signal.SIGHUP)
        self._note(FILES)

    def start_anew(self) -> None:
        """Edits a file while no server runs."""
        self.serving.stop()
        self._edit_the_model()
        self.serving.start()
        self._note(START)

    def break_and_mend(self) -> None:
        """Makes a broken edit, which never comes into force, and then a valid one."""
        rules = self._rules()
        (self.folder / RULES).write_text(rules.replace("# end", f"{_BROKEN}\n# end"))
        self._wait_until_broken()
        (self.folder / RULES).write_text(rules)
        self._note(FILES)

    def edit_while_it_fails(self) -> None:
        """Makes the database fail during a change, so that the change is recorded late."""
        with self.fails():
            (self.folder / RULES).write_text(self._rules())
            wait_until(lambda: any((self.serving.instance.folder / WAITING).glob("*.json")))
        self._note(FILES, late=True)

    # Common parts

    def _rules(self) -> str:
        """Returns rules that differ from the current ones, on other lines of the file."""
        file = self.folder / RULES
        before = file.read_text() if file.exists() else ""
        while True:
            lines = self.chance.sample(_LINES, self.chance.randrange(1, len(_LINES)))
            lines += [f"p, {key}, article.{verb}, always, deny" for key in self.people for verb in ("create", "update")
                      if self.chance.random() < 0.3]
            remarks = [f"# remark {number}" for number in range(self.chance.randrange(5))]
            if (text := "\n".join([*remarks, *lines, "# end", ""])) != before:
                return text

    def _edit_the_model(self) -> None:
        file = self.folder / MODEL
        text = file.read_text()
        before = next(line for line in text.splitlines(keepends=True) if "'cheap'" in line)
        after = _CHEAP.format(price=self.chance.randrange(1, DEAREST))
        file.write_text(text.replace(before, after if after != before else _CHEAP.format(price=DEAREST)))

    def _apply_over_http(self) -> None:
        rules = self._rules()

        def applied() -> bool:
            status, answer = self._ask("POST", "/api/admin/policy/apply", {
                "files": {RULES: rules}, "base_version": self.told[-1].version, "note": "over HTTP"})
            # A worker that has not read the files since the previous change reports it.
            assert status == 200 or (status, answer.get("code")) == (409, "conflict"), answer
            return status == 200

        wait_until(applied)

    def _run(self, command: str, *arguments: str) -> None:
        done = self.serving.instance.run("policy", command, *arguments, "--yes", "--note", f"by {command}")
        assert done.returncode == 0, done.stdout + done.stderr

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        assert self.serving.now is not None
        return self.serving.now.call(method, path, body, self._token)

    def _health(self) -> tuple[str, str]:
        health = self._ask("GET", "/api/health")[1]
        return health.get("status"), health.get("policy_version")

    def _wait_until_broken(self) -> None:
        """Waits until health reports the broken files. The last good policy stays in force."""
        wait_until(lambda: self._health() == ("degraded", self.told[-1].version))

    def _note(self, cause: str, *, late: bool = False) -> None:
        """Waits until the files are in force, and recorded."""
        expected = Expected(self.version(), cause, late)
        self.told.append(expected)
        wait_until(lambda: all(self._health() == ("ok", expected.version) for _ in range(SURELY)))
        wait_until(lambda: self._newest() == expected.version)

    def _newest(self) -> str | None:
        with self.database.connected():
            return policy_version.newest_version()


Way = Callable[[Ways], None]
WAYS: tuple[Way, ...] = (
    Ways.edit_a_file, Ways.edit_the_model, Ways.add_and_lose_a_file, Ways.apply_a_folder, Ways.revert,
    Ways.apply_over_http, Ways.hang_up, Ways.start_anew, Ways.break_and_mend, Ways.edit_while_it_fails)


def prepare(folder: Path) -> None:
    """A condition on prices, and a file with rules about the shop, among the shipped rules."""
    add_line(folder / MODEL, _CHEAP.format(price=DEAREST // 2).removesuffix("\n"))
    (folder / RULES).write_text("p, user, product.update, cheap, allow\n# end\n")


@contextmanager
def served(instance: Instance, *arguments: str) -> Iterator[Serving]:
    """A server of the instance, until the block ends."""
    serving = Serving(instance, arguments)
    serving.start()
    try:
        yield serving
    finally:
        serving.stop()
