"""Logs as JSON, one object a line: `time`, `level`, `logger`, `message`, and of a request `request_id`, `trace_id`.

A request's own line, when the setting `log_requests` asks for it, has its path without the query string, and neither
bodies nor headers: no secret gets there.

Nothing waits for a log that nobody reads: lines are left out until there is room again, and then it says how many.

The log is bounded. A long text is cut in its middle, which says how much is missing. A message that comes again and
again is written `OFTEN` times a minute; how many were left out is told in `left_out` of the next one, or in a line of
its own. Lines of requests are not counted: the setting asks for all of them.
"""

from __future__ import annotations

import json
import logging
import select
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from select import PIPE_BUF
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from flask import Request, Response, g, has_request_context, request

from ..protocol import trace

if TYPE_CHECKING:
    from policies import Principal
    from settings import LiveSettings

requests = logging.getLogger("gatepost.request")

LONGEST = 8192  # characters of one text in a line
OFTEN, MINUTE = 20, 60.0  # lines of one message in so many seconds
BEGINNING = 200  # characters of a message that tell which lines were left out
PATIENCE = 0.25  # seconds that a line waits for a slow reader
MESSAGES = 1000  # told apart in a minute; what is beyond is counted by logger and level


class Permitted(Protocol):
    """What is needed of the endpoint that answers."""

    @property
    def permission(self) -> str | None: ...


class Answered(Protocol):
    """What logs and metrics need of the call that is answered.

    `stages` leave it in Flask's `g.call`, and `errors` the code of an error that is answered in `g.problem`.
    """

    timings: dict[str, float] | None

    @property
    def endpoint(self) -> Permitted: ...
    @property
    def actor(self) -> Principal | None: ...


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; whatever a client sent is escaped, so that it cannot begin a line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        entry: dict[str, Any] = {"time": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "level": record.levelname.lower(),
                                 "logger": record.name, "message": record.getMessage()}
        if has_request_context():
            entry["request_id"] = trace.request_id(request.environ)
            if (joined := trace.trace_id()) is not None:
                entry["trace_id"] = joined
        entry.update(getattr(record, "fields", ()))
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        if left_out := getattr(record, "left_out", 0):
            entry["left_out"] = left_out
        line = json.dumps({name: _cut(value) for name, value in entry.items()}, default=str)
        # All else that a terminal would obey is escaped: what is not ASCII, and the controls of ASCII but for this.
        return line.replace("\x7f", "\\u007f")


def _cut(value: Any) -> Any:
    """A text in at most `LONGEST` characters and a mark; its end says as much as its beginning."""
    if not isinstance(value, str) or len(value) <= LONGEST:
        return value
    half = LONGEST // 2
    return f"{value[:half]} [… {len(value) - 2 * half} characters left out …] {value[-half:]}"


@dataclass
class _Seen:
    # Not the record: it holds the frames of its exception, and so what a request had in memory.
    logger: str
    level: int
    begins: str
    ends: float
    written: int = 0
    left_out: int = 0


class Repetitions(logging.Filter):
    """Lets a message through `OFTEN` times a minute: the same logger, level, template, and place of an exception."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = RLock()  # what is done with the lock held might log, too
        self._seen: dict[Hashable, _Seen] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == requests.name:
            return True
        moment, key = monotonic(), _alike(record)
        with self._lock:
            if key not in self._seen and len(self._seen) >= MESSAGES:
                key = record.name, record.levelno
            seen = self._seen.get(key)
            if seen is None or seen.ends <= moment:
                record.left_out = 0 if seen is None else seen.left_out
                seen = self._seen[key] = _Seen(
                    record.name, record.levelno, _beginning(record), moment + MINUTE)
            if seen.written < OFTEN:
                seen.written += 1
                return True
            seen.left_out += 1
            return False

    def tell(self) -> None:
        """Log how many lines were left out of messages that have not come again since their minute ended."""
        moment = monotonic()
        with self._lock:
            over = {key: seen for key, seen in self._seen.items() if seen.ends <= moment}
            for key in over:
                del self._seen[key]
        for seen in over.values():
            if seen.left_out:
                logging.getLogger(seen.logger).log(
                    seen.level, "%d lines were left out that begin: %s", seen.left_out, seen.begins)


def _alike(record: logging.LogRecord) -> Hashable:
    kind, _, traceback = record.exc_info or (None, None, None)
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    where = None if traceback is None else (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
    return record.name, record.levelno, str(record.msg), kind, where


def _beginning(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()[:BEGINNING]
    except (TypeError, ValueError, LookupError):
        # Arguments that do not fit: the handler says so, and the code that logs must not fail.
        return str(record.msg)[:BEGINNING]


class StandardError(logging.Handler):
    """Writes lines to standard error as far as there is room in it."""

    def __init__(self) -> None:
        super().__init__()
        self._left_out = 0
        self._torn = False

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._left_out and self._write(self.format(logging.makeLogRecord({
                    "name": __name__, "levelno": logging.WARNING, "levelname": "WARNING",
                    "msg": "%d lines were left out, because nobody read the log", "args": (self._left_out,)}))):
                self._left_out = 0
            if self._left_out or not self._write(self.format(record)):
                self._left_out += 1
        except Exception:  # as every handler of logging: the code that logs must not fail
            self.handleError(record)

    def _write(self, line: str) -> bool:
        """Whether the whole line was written."""
        stream, text = sys.stderr, f"\n{line}\n" if self._torn else f"{line}\n"
        for begin in range(0, len(text), PIPE_BUF):
            if not _has_room(stream, 0.0 if self._left_out else PATIENCE):
                self._torn = self._torn or begin > 0
                return False
            stream.write(text[begin:begin + PIPE_BUF])
            stream.flush()
        self._torn = False
        return True


def _has_room(stream: TextIO, seconds: float) -> bool:
    """Whether `PIPE_BUF` bytes can be written without waiting for a reader; always so for files."""
    try:
        looked = select.poll()
        looked.register(stream, select.POLLOUT)
    except (OSError, ValueError):
        return True  # a stream of Python's own
    return bool(looked.poll(seconds * 1000))


repetitions = Repetitions()


def configure(level: str) -> None:
    """Send the logs of this process to standard error; `level` is the least severity."""
    # What logging writes with where there is no handler; a program that embeds the app and adds one is obeyed.
    handler = logging.lastResort = StandardError()
    handler.setFormatter(JsonFormatter())
    handler.addFilter(repetitions)
    handler.setLevel(logging.NOTSET)
    set_level(level)


def set_level(level: str) -> None:
    """Log from this severity on."""
    logging.root.setLevel(level.upper())


def request_lines(live: LiveSettings) -> Callable[[Request, Response], Response]:
    """Log one line for every request where the setting `log_requests` says so, also where the server has asked about
    its head before (`expectation`)."""
    def log_answer(request: Request, response: Response) -> Response:
        if live.current.log_requests and response.status_code != 100 and requests.isEnabledFor(logging.INFO):
            call: Answered | None = g.get("call")
            principal = None if call is None else call.actor
            requests.info("%s %s", request.method, request.path, extra={"fields": {
                "status": response.status_code, "code": g.get("problem"),
                "milliseconds": round(trace.elapsed(request.environ) * 1000, 3),
                "principal": None if principal is None else principal.key, "address": request.remote_addr}})
        return response

    return log_answer
