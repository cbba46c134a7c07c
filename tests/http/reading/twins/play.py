"""Sends the same tries to both instances, and compares their answers.

All tries: `python -m tests.http.reading.twins.play --seed 1`; a sample: `--tries 500` of each way.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from werkzeug.test import TestResponse

from tests.databases import find_programs, running_server
from tests.http.reading.twins.instances import Clock, Secret, Twin, secrets_of, twins
from tests.http.reading.twins.tries import NAMING, Try, tries

# Values that identify the request and not its answer.
_OF_THE_REQUEST = ("Date", "X-Request-ID", "Server-Timing", "traceparent")
# Nor estimates of many rows by Postgres, which come from a random sample.
_REQUEST_ID = re.compile(r'"request_id":(?:"[^"]*"|null)|"total_estimate":\d+')
# If the version differs, so does its keyed hash, which reveals only that the version is another one.
_KEYED = re.compile(r"h[0-9a-f]{32}")


def told(answer: TestResponse, secret: Secret) -> tuple[int, tuple[tuple[str, str], ...], str]:
    """Returns everything that an answer reveals: status, headers and body."""
    headers = tuple((name, value) for name, value in answer.headers.items() if name not in _OF_THE_REQUEST)
    text = _REQUEST_ID.sub("", answer.get_data(as_text=True))
    if secret.column != "version":
        return answer.status_code, headers, text
    return (answer.status_code, tuple((name, _KEYED.sub("a keyed hash", value)) for name, value in headers),
            _KEYED.sub("a keyed hash", text))


class Pair:
    """Two instances with the same past, and their next request."""

    def __init__(self, first: Twin, second: Twin, clock: Clock) -> None:
        self.first, self.second, self._clock = first, second, clock
        self._moment = 100
        self.tried, self.answers = 0, Counter[int]()

    def enter(self) -> None:
        """Logs all callers in to both instances."""
        self._moment += 100
        for twin in (self.first, self.second):
            self._clock.at(self._moment)
            twin.enter()

    def play(self, secret: Secret, who: str, one: Try) -> str | None:
        """Sends one try to both twins. Returns a sentence if their answers differ."""
        self._moment += 1
        found = []
        for twin, value in zip((self.first, self.second), secret.values, strict=True):
            twin.hold(secret, value)
            self._clock.at(self._moment)
            found.append([told(answer, secret) for answer in one.play(twin.callers[who])])
            twin.hold(secret, secret.values[0])
            twin.settle()
        self.tried += 1
        self.answers.update(status for status, _, _ in found[0])
        if found[0] == found[1]:
            return None
        differing = next(((a, b) for a, b in zip(*found, strict=False) if a != b), found)
        return f"{who} tells {secret} {secret.values} by {one}:\n  {differing[0]}\n  {differing[1]}"


@contextmanager
def pair(folder: Path, urls: Iterable[str]) -> Iterator[Pair]:
    """Two instances on these two databases, under one clock."""
    with Clock().ticking() as clock, twins(folder, list(urls), clock) as (first, second):
        yield Pair(first, second, clock)


def leaks(found: Pair, chance: random.Random, most: int, share: float = 1.0) -> Iterator[str]:
    """Yields the tries that reveal a secret to a caller who may not see it.

    most   tries of each way in and out (0: all; three times as many if the field is named)
    share  share of the ways that are tried for each secret
    """
    found.enter()
    for secret in secrets_of(found.first):
        found.enter()
        ways: dict[str, list[tuple[str, Try]]] = {}
        for one in tries(found.first, secret):
            # Only developers get reasons. Others always get the same refusal.
            for who in found.first.callers if one.way != "explain" else ("developer",):
                ways.setdefault(one.way, []).append((who, one))
        for way, every in ways.items():
            if chance.random() >= share:
                continue
            some = most * 3 if way.endswith(NAMING) else most
            for who, one in chance.sample(every, some) if some and some < len(every) else every:
                if (leak := found.play(secret, who, one)) is not None:
                    yield leak


def main() -> None:
    """Plays every try, or some of each way, on SQLite and, if installed, on Postgres."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tries", type=int, default=60, help="of each secret and way; 0: all")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _run(Path(folder) / "sqlite", [f"sqlite:///{folder}/{name}.db" for name in "ab"], asked)
        if find_programs() is not None:
            with running_server() as server:
                for name in "ab":
                    server.execute(f"CREATE DATABASE twin_{name}")
                _run(Path(folder) / "postgres", [server.url(f"twin_{name}") for name in "ab"], asked)


def _run(folder: Path, urls: list[str], asked: argparse.Namespace) -> None:
    with pair(folder, urls) as found:
        leaking = list(leaks(found, random.Random(asked.seed), asked.tries))
        print(f"{folder.name}: {found.tried} tries, {found.answers.total()} answers of each, {len(leaking)} told apart "
              f"(seed {asked.seed}); by status: {dict(sorted(found.answers.items()))}", flush=True)
        for leak in leaking[:20]:
            print(leak)
    if leaking:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
