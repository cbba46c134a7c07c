"""Logs as JSON, one object a line: `time`, `level`, `logger`, `message`, and of a request `request_id`, `trace_id`.

A request's own line, when the setting `log_requests` asks for it, has its path without the query string, and neither
bodies nor headers: no secret gets there.

Nothing waits for a log that nobody reads: lines are left out until there is room again, and then it says how many.

The log is bounded. A long text is cut in its middle, which says how much is missing. A message that comes again and
again is written `OFTEN` times a minute; then a line says how many were left out. Lines of requests are not counted:
the setting asks for all of them.
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
PATIENCE = 0.25  # seconds that a part of a line waits for a slow reader
MESSAGES = 1000  # that are counted each for itself in a minute; the others are counted by logger and level


class Permitted(Protocol):
    """The part of an endpoint that logs and metrics use."""

    @property
    def permission(self) -> str | None: ...


class Answered(Protocol):
    """The part of a call that logs and metrics use.

    `stages` leave it in Flask's `g.call`; `errors` leave the code of an error in `g.problem`.
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
class _Message:
    # Not the record: it holds the frames of its exception, and so what a request had in memory.
    logger: str
    level: int
    beginning: str
    lines: int = 0


class Repetitions(logging.Filter):
    """Lets `OFTEN` lines of a message through each minute: same logger, level, template, and place of the exception.

    It has no lock: a line more or less does not matter, and a process may be forked while another thread logs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._messages: dict[Hashable, _Message] = {}
        self._ends = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name == requests.name:
            return True
        self.tell()
        key = _key(record)
        message = self._messages.get(key)
        if message is None:
            if len(self._messages) >= MESSAGES:
                key = record.name, record.levelno
            message = self._messages.setdefault(key, _Message(record.name, record.levelno, _beginning(record)))
        message.lines += 1
        return message.lines <= OFTEN

    def tell(self) -> None:
        """Log how many lines were left out of each message, once the minute is over."""
        if (moment := monotonic()) < self._ends:
            return
        messages, self._messages, self._ends = self._messages, {}, moment + MINUTE
        for message in messages.values():
            if message.lines > OFTEN:
                logging.getLogger(message.logger).log(message.level, "%d lines were left out that begin: %s",
                                                      message.lines - OFTEN, message.beginning)


def _key(record: logging.LogRecord) -> Hashable:
    kind, _, traceback = record.exc_info or (None, None, None)
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    place = None if traceback is None else (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)
    return record.name, record.levelno, str(record.msg), kind, place


def _beginning(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()[:BEGINNING]
    except (TypeError, ValueError, LookupError):  # arguments that do not fit: the handler says so
        return str(record.msg)[:BEGINNING]


class StandardError(logging.Handler):
    """Writes lines to standard error as far as there is room in it, and counts those that it leaves out."""

    def __init__(self) -> None:
        super().__init__()
        self._unwritten = ""  # the rest of a line that is written in part
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if not self._write(0.0):
                self._left_out += 1
                return
            if self._left_out:
                self._unwritten = self.format(logging.makeLogRecord({
                    "name": __name__, "levelno": logging.WARNING, "levelname": "WARNING",
                    "msg": "%d lines were left out, because nobody read the log", "args": (self._left_out,)})) + "\n"
                self._left_out = 0
            self._unwritten += self.format(record) + "\n"
            self._write(PATIENCE)
        except Exception:  # as every handler of logging: the code that logs must not fail
            self.handleError(record)

    def _write(self, seconds: float) -> bool:
        """Write what is unwritten, as long as each part of it finds room within some seconds; True if all of it did."""
        while self._unwritten:
            if not _has_room(sys.stderr, seconds):
                return False
            part, self._unwritten = self._unwritten[:PIPE_BUF], self._unwritten[PIPE_BUF:]
            sys.stderr.write(part)
            sys.stderr.flush()
        return True


def _has_room(stream: TextIO, seconds: float) -> bool:
    """True if `PIPE_BUF` bytes can be written without waiting for a reader; always for files."""
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
    """Log one line for every request if the setting `log_requests` says so; none for 100 Continue (`expectation`)."""
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
