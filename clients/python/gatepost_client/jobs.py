"""Waiting for a job, and fetching the file that it made."""

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

_FIRST = 0.2  # seconds: the longest first pause between two looks


class JobFiles(Collection):
    """What can be done with jobs beside reading and deleting them."""

    def wait(self, job: Job | str, seconds: float = 3600.0) -> Job:
        """The job once it is done, looked at ever more seldom, up to every five seconds.

        Raises `JobFailed` where it has failed or was cancelled, TimeoutError after `seconds`: the job goes on.
        """
        id, end, number = _id(job), monotonic() + seconds, 0
        while True:
            found: Job = self._get(id).row
            match found["state"]:
                case "done":
                    return found
                case "failed" | "cancelled" as state:
                    raise _failure(found.get("result"), state)
            number += 1
            if monotonic() > end:
                raise TimeoutError(f"The job {id} is still {found['state']}.")
            sleep(pause(number, _FIRST))

    def rows(self, job: Job | str) -> Iterator[dict[str, Any]]:
        """The rows of an export in NDJSON. The whole file is fetched first, again where it was cut."""
        with TemporaryFile() as file:
            self.save(job, file)
            file.seek(0)
            yield from map(json.loads, lines(iter(lambda: file.read(65536), b"")))

    def save(self, job: Job | str, file: IO[bytes]) -> None:
        """Write the file of an export into `file`, which is emptied first, and can be sought in."""
        self._caller.send("GET", f"{self._at(_id(job))}/file", into=file)


def _id(job: Job | str) -> str:
    return job if isinstance(job, str) else job["id"]


def _failure(result: Any, state: str) -> JobFailed:
    said = result if isinstance(result, dict) else {}
    return JobFailed(said.get("code", state), said.get("status", 0), said.get("detail", f"The job was {state}."),
                     errors=said.get("errors", ()), request_id=said.get("request_id", ""))
