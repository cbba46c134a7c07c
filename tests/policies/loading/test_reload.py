"""A running service follows its files, and keeps its last good policy when they are broken."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import policies
from policies import Finding, PolicyError, Principal
from policies.cases.case_file import failures
from policies.evaluation.principal import FixedEnvironment
from policies.loading.folder import Folder
from policies.loading.snapshot import LAST_GOOD
from policies.loading.watch import Watcher
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.running import wait_until

NOON = FixedEnvironment(hour=12, ip="10.1.2.3")
USER = Principal("1", "user:1", "user", "t")
ADMIN = Principal("2", "user:2", "admin", "t")
DRAFT = VOCABULARY.resources["article"].row(id="9", owner_id="2", status="draft")
BROKEN = "p, user, article.delete, always, dney\n# end\n"
OPENED = "p, user, article.view, always, allow\n# end\n"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An instance's policies, as `gatepost init` leaves them."""
    target = tmp_path / "policies"
    target.mkdir()
    for place in policies.SHIPPED.iterdir():
        if place.name == "model.conf" or place.suffix == ".csv":
            shutil.copy(place, target)
    return target


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="gatepost.policy")


def watching(directory: Path, *, interval: float = 1.0, **options: Any) -> Watcher:
    return Watcher(Folder(directory, VOCABULARY, **options), keep=directory.parent, interval=interval)


def sees_drafts(watcher: Watcher) -> bool:
    return watcher.current.decide(USER, "article.view", DRAFT, NOON)


def settle(watcher: Watcher) -> None:
    watcher.poll()
    watcher.poll()


def test_a_change_is_taken_over_after_two_identical_polls(directory: Path) -> None:
    watcher = watching(directory)
    before = watcher.current.version
    (directory / "articles.csv").write_text(OPENED)
    assert watcher.poll().version == before
    assert not sees_drafts(watcher)
    assert watcher.poll().version == watcher.current.version != before
    assert sees_drafts(watcher)


def test_a_file_that_is_still_being_written_is_left_alone(directory: Path) -> None:
    watcher = watching(directory)
    before = watcher.current
    for text in ("p, user", OPENED[:20], BROKEN):
        (directory / "articles.csv").write_text(text)
        assert watcher.poll().error is None
    assert watcher.current is before


def test_without_a_change_the_policy_stays_the_same_object(directory: Path) -> None:
    watcher = watching(directory)
    before = watcher.current
    settle(watcher)
    watcher.reload()
    os.utime(directory / "articles.csv")
    settle(watcher)
    assert watcher.current is before


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("articles.csv", BROKEN.encode()),
        ("articles.csv", b""),
        ("model.conf", b"[matchers]\n# end\n"),
        ("roles.csv", b"g, guest, user\ng, user, guest\n# end\n"),
        ("broken.csv", b"\xff\xfe"),
    ],
)
def test_a_broken_edit_keeps_the_last_good_policy_and_says_so(
    directory: Path, caplog: pytest.LogCaptureFixture, name: str, content: bytes
) -> None:
    watcher = watching(directory)
    before = watcher.current
    (directory / name).write_bytes(content)
    settle(watcher)
    assert watcher.current is before
    assert watcher.status.error is not None and name in watcher.status.error
    assert watcher.status.version == before.version
    assert name in caplog.text and before.version in caplog.text


def test_a_mended_file_clears_the_error_and_says_so(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    watcher = watching(directory)
    good = (directory / "articles.csv").read_bytes()
    (directory / "articles.csv").write_text(BROKEN)
    settle(watcher)
    began = watcher.status.since
    settle(watcher)
    assert watcher.status.error and watcher.status.since == began
    (directory / "articles.csv").write_bytes(good)
    settle(watcher)
    assert watcher.status.error is None
    assert caplog.text.count(f"the files are mended: they are version {watcher.current.version}") == 1


def test_a_removed_file_that_is_required_keeps_the_last_good_policy(directory: Path) -> None:
    watcher = watching(directory, required=("articles.csv",))
    (directory / "articles.csv").unlink()
    settle(watcher)
    assert watcher.status.error is not None and "gatepost policy adopt articles" in watcher.status.error


def test_a_restart_with_a_broken_edit_starts_on_the_last_good_policy(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = watching(directory).current
    (directory / "articles.csv").write_text(BROKEN)
    again = watching(directory)
    assert again.current.version == good.version
    assert again.current.rules == good.rules
    assert again.status.error is not None and "articles.csv:1: `dney` is no effect" in again.status.error
    assert "started on the last good policy" in caplog.text
    (directory / "articles.csv").write_text(OPENED)
    settle(again)
    assert again.status.error is None
    assert sees_drafts(again)


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", b'{"version": "0", "files": {}}', b'{"files": 3'])
def test_without_a_last_good_policy_a_broken_one_stops_the_start(directory: Path, damage: bytes) -> None:
    watching(directory)
    (directory.parent / LAST_GOOD).write_bytes(damage)
    (directory / "articles.csv").write_text(BROKEN)
    with pytest.raises(PolicyError, match="dney"):
        watching(directory)


def test_a_last_good_policy_that_was_changed_is_not_used(directory: Path) -> None:
    watching(directory)
    kept = directory.parent / LAST_GOOD
    kept.write_text(kept.read_text().replace("article.view,         published", "article.view,         always"))
    (directory / "articles.csv").write_text(BROKEN)
    with pytest.raises(PolicyError):
        watching(directory)


def test_cases_that_fail_keep_the_last_good_policy(directory: Path) -> None:
    asked: list[Path] = []

    def cases(policy: policies.Policy, place: Path) -> list[Finding]:
        asked.append(place)
        allowed = policy.decide(USER, "article.view", DRAFT, NOON)
        return [Finding(place.name, 1, "a user sees a draft")] if allowed else []

    watcher = watching(directory, cases=cases)
    assert asked == []
    (directory / "tests.yaml").write_text("cases: []\n")
    settle(watcher)
    assert watcher.status.error is None and asked == [directory / "tests.yaml"]
    (directory / "articles.csv").write_text(OPENED)
    settle(watcher)
    assert watcher.status.error == "tests.yaml:1: a user sees a draft"
    assert not sees_drafts(watcher)


def test_what_tests_nothing_in_the_cases_keeps_no_rules_from_being_taken_over(directory: Path) -> None:
    watcher = watching(directory, cases=failures)
    (directory / "tests.yaml").write_text(
        "principals: {ann: {role: user}, bob: {role: user}}\nobjects: {article: {a draft: {status: draft}}}\n"
        "cases: [{name: drafts, who: ann, what: a draft, may: [article.view]}]\n")
    (directory / "pages.csv").write_text((directory / "pages.csv").read_text().replace("# end\n", OPENED))
    settle(watcher)
    assert [one.severity for one in failures(watcher.current, directory / "tests.yaml")] == ["warning"]
    assert watcher.status.error is None and sees_drafts(watcher)


def test_the_thread_follows_the_files_and_a_hangup_reloads_at_once(directory: Path) -> None:
    watcher = watching(directory, interval=0.01)
    previous = signal.getsignal(signal.SIGHUP)
    watcher.start()
    try:
        (directory / "articles.csv").write_text(OPENED)
        wait_until(lambda: sees_drafts(watcher))
    finally:
        watcher.stop()
    patient = watching(directory, interval=60)
    signal.signal(signal.SIGHUP, lambda *_: patient.look_soon())
    patient.start()
    try:
        (directory / "articles.csv").write_text(OPENED.replace("always", "own"))
        os.kill(os.getpid(), signal.SIGHUP)
        wait_until(lambda: not sees_drafts(patient))
    finally:
        patient.stop()
        signal.signal(signal.SIGHUP, previous)


@pytest.fixture
def restless() -> Iterator[None]:
    """Makes threads switch after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_readers_beside_a_reload_loop_never_get_a_wrong_answer(directory: Path, restless: None, rounds: int) -> None:
    """Four readers make decisions while the policy switches between two states, which share some decisions."""
    watcher = watching(directory)
    closed = (directory / "articles.csv").read_text()
    versions = {watcher.current.version: False}
    (directory / "articles.csv").write_text(OPENED)
    watcher.reload()
    versions[watcher.current.version] = True
    wrong: list[str] = []
    done = threading.Event()

    def read() -> None:
        decisions = 0
        while decisions < 200 * rounds or not done.is_set():
            decisions += 1
            policy = watcher.current
            if policy.decide(USER, "article.view", DRAFT, NOON) is not versions[policy.version]:
                wrong.append(f"{policy.version}: a user and a draft")
            if not policy.decide(ADMIN, "article.view", DRAFT, NOON):
                wrong.append(f"{policy.version}: the admin was refused")
            if policy.decide(USER, "article.delete", DRAFT, NOON):
                wrong.append(f"{policy.version}: a user deleted another's draft")

    def write() -> None:
        try:
            for text in (closed, OPENED) * rounds:
                (directory / "articles.csv").write_text(text)
                watcher.reload()
        finally:
            done.set()

    readers = [threading.Thread(target=read) for _ in range(4)]
    writer = threading.Thread(target=write)
    for thread in (writer, *readers):
        thread.start()
    for thread in (writer, *readers):
        thread.join()
    assert wrong == []
    assert watcher.status.error is None
