"""The process of a trial: one at a time for an instance, so that trials do not take all of its time.

A change that is put in force is checked in the same way, at the same time as any trial. So trials cannot keep others
from changing the policy.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Any

from gatepost.http.operations import affinity
from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import Problem

from .trial import FAILED, FINDINGS, INCOMPLETE, TIMEOUT, Question

LONGEST = 120.0  # seconds after which it waits for what does not come; its own work has a limit (`process`)
RETRY_AFTER = "5"  # seconds after which the other trial may have ended
# It finds its modules where this process finds them, no matter how that was started.
_PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from blueprints.policy_changes.process import main; main()"
_TRIAL, _CHANGE = "policy.trial.lock", "policy.change.lock"  # in the folder of the instance
_MOST_LOGGED = 4_000  # bytes of the error output of a failed process

_log = logging.getLogger("gatepost.policy")


@dataclass
class Trial:
    """Result of a trial, by the name of the part (`trial`).

    incomplete  part that was begun and not finished → `timeout` or `failed`
    """

    parts: dict[str, Any] = field(default_factory=dict)
    incomplete: dict[str, str] = field(default_factory=dict)

    @property
    def findings(self) -> list[Mapping[str, Any]]:
        """Findings about the files: `{file, line, message, severity, person}`."""
        return list(self.parts.get(FINDINGS, ()))

    @property
    def errors(self) -> list[Mapping[str, Any]]:
        """The errors among the findings. With one, the files cannot come into force."""
        return [one for one in self.findings if one["severity"] == "error"]


def tried(question: Question) -> Trial:
    """Runs a trial. Raises `Problem`: `overloaded` if another trial runs, `unavailable` if none can begin."""
    taken = Message("Another change of the policy is being tried. Try again when that has ended.")
    with _alone(question, _TRIAL, taken):
        return _run(question)


def checked(question: Question) -> Trial:
    """Checks the files of a change. Raises `Problem`: `overloaded` if another change runs, `unavailable` as `tried`."""
    taken = Message("Another change of the policy is being put in force. Try again when that has ended.")
    with _alone(question, _CHANGE, taken):
        return _run(question)


def _run(question: Question) -> Trial:
    with TemporaryFile() as output:
        try:
            process = Popen([sys.executable, "-c", _PROGRAM, *sys.path], stdin=PIPE, stdout=PIPE, stderr=output)
        except OSError as error:
            _log.error("a trial of a policy cannot begin: %s", error.strerror)
            raise Problem("unavailable", "A trial cannot begin now.") from error
        affinity.roam(process.pid)
        trial, in_time = _answered(process, question)
        if output.tell():
            _log.error("of a trial of a policy:\n%s", _end(output))
    for part in (FINDINGS, *question.parts):
        if part not in trial.parts and not trial.errors:
            trial.incomplete.setdefault(part, FAILED if in_time else TIMEOUT)
    return trial


def _answered(process: Popen[bytes], question: Question) -> tuple[Trial, bool]:
    """Returns the output of the process, and true if the process ended by itself."""
    assert process.stdin is not None and process.stdout is not None
    trial, late = Trial(), Timer(LONGEST, process.kill)
    late.start()
    try:
        with suppress(BrokenPipeError):
            process.stdin.write(pickle.dumps(question))
            process.stdin.flush()
        for line in process.stdout:
            part, content = json.loads(line)
            if part == INCOMPLETE:
                trial.incomplete[content[0]] = content[1]
            else:
                trial.parts[part] = content
        return trial, process.wait() >= 0
    finally:
        late.cancel()
        process.kill()
        with suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()


@contextmanager
def _alone(question: Question, lock: str, taken: Message) -> Iterator[None]:
    place = question.settings.instance / lock
    try:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        _log.error("%s cannot be opened: %s", place, error.strerror)
        raise Problem("unavailable", "A trial cannot begin now.") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Problem("overloaded", taken, headers={"Retry-After": RETRY_AFTER}) from None
        yield
    finally:
        os.close(descriptor)


def _end(output: IO[bytes]) -> str:
    """Returns the end of the error output."""
    output.seek(max(0, output.tell() - _MOST_LOGGED))
    return output.read().decode(errors="replace")
