"""Waits for jobs, and downloads their files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO, Any

from .collection import Collection, lines
from .problems import JobFailed
from .retries import pause
from .types import Job

_FIRST = 0.2  # seconds: the longest first pause between two requests


class JobFiles(Collection):
    """The requests for jobs besides reading and deleting them."""

    def wait(self, job: Job | str, seconds: float = 3600.0) -> Job:
        """Waits until the job is done, and returns it. Requests it with growing pauses of at most five seconds.

        Raises `JobFailed` if it failed or was cancelled, and TimeoutError after `seconds`, while the job continues.
        """
        id, end, number = _id(job), monotonic() + seconds, 0
        while True:
            current: Job = self._get(id).row
            match current["state"]:
                case "done":
                    return current
                case "failed" | "cancelled" as state:
                    raise _failure(current.get("result"), state)
            number += 1
            if monotonic() > end:
                raise TimeoutError(f"The job {id} is still {current['state']}.")
            sleep(pause(number, _FIRST))

    def rows(self, job: Job | str) -> Iterator[dict[str, Any]]:
        """Yields the rows of an export in NDJSON. Downloads the whole file first, again if it was cut off."""
        with TemporaryFile() as file:
            self.save(job, file)
            file.seek(0)
            yield from map(json.loads, lines(iter(lambda: file.read(65536), b"")))

    def save(self, job: Job | str, file: IO[bytes]) -> None:
        """Writes the file of an export into `file`, which must be seekable and is emptied first."""
        self._caller.send("GET", f"{self._at(_id(job))}/file", into=file)


def _id(job: Job | str) -> str:
    return job if isinstance(job, str) else job["id"]


def _failure(result: Any, state: str) -> JobFailed:
    problem = result if isinstance(result, dict) else {}
    detail = problem.get("detail", f"The job was {state}.")
    return JobFailed(problem.get("code", state), problem.get("status", 0), detail,
                     errors=problem.get("errors", ()), request_id=problem.get("request_id", ""))
