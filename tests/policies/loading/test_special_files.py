"""Special files (FIFOs, sockets) in the policy folder, and a disk that hangs: nothing blocks, and findings name the
file."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from policies import PolicyError
from policies.cases.case_file import failures
from policies.loading import loader, snapshot, watch
from policies.loading.files import LARGEST_FILE, Unreadable, read_bytes
from policies.loading.folder import Folder
from policies.loading.snapshot import LAST_GOOD
from policies.loading.watch import Overdue, Watcher
from tests.policies.editing import shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.running import wait_until
from tests.samples import sampled

SPECIAL = "this is not a regular file"
LARGE = "the file has more than 1 MiB"


def fifo(place: Path) -> None:
    os.mkfifo(place)


def endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def terminal(place: Path) -> None:
    place.symlink_to("/dev/ptmx")


def folder(place: Path) -> None:
    place.mkdir()


def listener(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        before = Path.cwd()
        os.chdir(place.parent)  # the path of a socket is short
        try:
            bound.bind(place.name)
        finally:
            os.chdir(before)


def sparse(place: Path) -> None:
    with place.open("wb") as file:
        file.truncate(5 << 30)


def loop(place: Path) -> None:
    place.symlink_to(place.name)


def nowhere(place: Path) -> None:
    place.symlink_to("nothing.csv")


SAID = {fifo: SPECIAL, endless: SPECIAL, terminal: SPECIAL, folder: SPECIAL, listener: SPECIAL, sparse: LARGE,
        loop: "the file cannot be read: Too many levels", nowhere: "the file cannot be read: No such file"}
every_kind = pytest.mark.parametrize("make", SAID, ids=lambda make: make.__name__)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="gatepost.policy")


@every_kind
def test_a_file_that_is_none_is_refused_and_never_waited_for(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "notes.csv")
    with pytest.raises(Unreadable, match=SAID[make]):
        read_bytes(tmp_path / "notes.csv")


def test_a_link_to_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"p")
    (tmp_path / "notes.csv").symlink_to("kept")
    assert read_bytes(tmp_path / "notes.csv") == b"p"


@pytest.mark.parametrize("more", [0, 1])
def test_a_file_may_have_as_many_bytes_as_is_said_and_not_one_more(tmp_path: Path, more: int) -> None:
    (tmp_path / "notes.csv").write_bytes(bytes(LARGEST_FILE + more))
    if more:
        with pytest.raises(Unreadable, match=LARGE):
            read_bytes(tmp_path / "notes.csv")
    else:
        assert len(read_bytes(tmp_path / "notes.csv")) == LARGEST_FILE


def test_many_files_are_no_way_to_fill_the_memory_either(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "LARGEST_POLICY", 2 << 20)
    for name in ("a.csv", "b.csv", "c.csv"):
        (directory / name).write_bytes(bytes(LARGEST_FILE))
    with pytest.raises(PolicyError, match="more than 2 MiB together"):
        loader.load(directory, VOCABULARY)


@every_kind
@pytest.mark.parametrize("name", sampled(["articles.csv", "model.conf", "tests.yaml", "more.csv"], 3))
def test_in_the_place_of_any_policy_file_it_is_a_broken_edit(
    directory: Path, make: Callable[[Path], None], name: str
) -> None:
    watcher = Watcher(Folder(directory, VOCABULARY, cases=failures))
    before = watcher.current
    (directory / name).unlink(missing_ok=True)
    make(directory / name)
    assert f"{name}: {SAID[make]}" in (watcher.reload().error or "")
    assert watcher.current is before


def test_a_last_good_policy_that_is_no_file_is_none(directory: Path) -> None:
    os.mkfifo(directory.parent / LAST_GOOD)
    assert snapshot.kept(directory.parent / LAST_GOOD) is None


# A mount that hangs: a read does not return before `hang.set()`. A real one needs a file system of its own.


class Mount:
    """Policy files on a disk that answers until it `hangs`. Other folders stay readable for other watchers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.answers, self.waiting = threading.Event(), threading.Event()
        self.answers.set()

    def read(self, place: Path, *more: Any) -> bytes:
        if place.is_relative_to(self.root) and not self.answers.is_set():
            self.waiting.set()
            assert self.answers.wait(60)
        return read_bytes(place, *more)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        self.answers.clear()
        try:
            yield
        finally:
            self.answers.set()


@pytest.fixture
def mount(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Mount:
    made = Mount(directory)
    monkeypatch.setattr(loader, "read_bytes", made.read)
    return made


def test_while_the_folder_does_not_answer_it_is_said_and_afterwards_the_files_are_followed_again(
    directory: Path, mount: Mount
) -> None:
    watcher = Watcher(Folder(directory, VOCABULARY), interval=0.01)
    before = watcher.current
    previous = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, lambda *_: watcher.look_soon())
    watcher.start()
    try:
        with mount.hanging():
            assert mount.waiting.wait(30)
            os.kill(os.getpid(), signal.SIGHUP)
            wait_until(lambda: watcher.trouble)
            assert "the policy folder does not answer" in str(watcher.trouble)
            with pytest.raises(Overdue, match=before.version):
                watcher.prove_followed()
            assert watcher.current is before and watcher.status.error is None
            (directory / "articles.csv").write_text("p, user, article.*, always, deny\n# end\n")
        wait_until(lambda: watcher.current is not before), "a deny is taken over once the folder answers"
        wait_until(lambda: watcher.trouble is None)
    finally:
        watcher.stop()
        signal.signal(signal.SIGHUP, previous)


def test_a_stop_leaves_a_look_that_hangs_behind_and_it_ends_when_it_can(directory: Path, mount: Mount) -> None:
    watcher, others = Watcher(Folder(directory, VOCABULARY), interval=0.01), set(threading.enumerate())
    watcher.start()
    with mount.hanging():
        assert mount.waiting.wait(30)
        [left] = [thread for thread in threading.enumerate()
                  if thread.name == "policy watcher" and thread not in others]
        watcher.stop()  # does not wait for a read that cannot end
        assert left.is_alive() and watcher.trouble is None
    left.join(30)
    assert not left.is_alive()


def test_a_folder_that_does_not_answer_stops_the_start(
    directory: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "PATIENCE", 0.1)
    with mount.hanging(), pytest.raises(PolicyError, match="the policy folder does not answer"):
        Watcher(Folder(directory, VOCABULARY, required=("articles.csv",)), keep=directory.parent)


def test_a_start_on_a_folder_that_does_not_answer_takes_the_last_good_policy_and_follows_it_later(
    directory: Path, mount: Mount, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    good = Watcher(Folder(directory, VOCABULARY), keep=directory.parent).current
    monkeypatch.setattr(watch, "PATIENCE", 0.1)
    with mount.hanging():
        watcher = Watcher(Folder(directory, VOCABULARY, required=("articles.csv",)), keep=directory.parent)
        assert watcher.current.version == good.version
        assert "the policy folder does not answer" in str(watcher.trouble)
        assert "started on the last good policy" in caplog.text
    watcher.poll()
    watcher.poll()
    assert watcher.trouble is None
