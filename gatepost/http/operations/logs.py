"""Logs as JSON, one object a line: `time`, `level`, `logger`, `message`, and of a request `request_id`, `trace_id`.

The line of a request (setting `log_requests`) has its path without the query string, and neither bodies nor headers, so
that it contains no secret.

The service does not wait for a slow reader of the log. It omits lines until there is room, and then logs their number.

The log is bounded. A long text is cut in its middle, with the number of missing characters. A repeated message is
written `OFTEN` times a minute; then a line has the number of omitted ones. Lines of requests are never omitted for
repetition, because the setting asks for all of them.
"""

from __future__ import annotations

import json
import logging
import select
import sys
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from select import PIPE_BUF
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from flask import Request, Response, g, has_request_context, request

from ..protocol import trace
from ..protocol.secret_paths import without_secret, without_secrets

if TYPE_CHECKING:
    from policies import Principal
    from settings import LiveSettings

requests = logging.getLogger("gatepost.request")

LONGEST = 8192  # characters of one text in a line
OFTEN, MINUTE = 20, 60.0  # lines of one message in so many seconds
BEGINNING = 200  # characters of a message in the line about omitted lines
PATIENCE = 0.25  # seconds that a part of a line waits for a slow reader
MESSAGES = 1000  # distinct messages that are counted in a minute; the others are counted by logger and level


class Permitted(Protocol):
    """Interface of an endpoint for logs and metrics."""

    @property
    def permission(self) -> str | None: ...


class Answered(Protocol):
    """Interface of a call for logs and metrics.

    `stages` sets Flask's `g.call`; `errors` sets the code of an error in `g.problem`.
    """

    timings: dict[str, float] | None

    @property
    def endpoint(self) -> Permitted: ...
    @property
    def actor(self) -> Principal | None: ...


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON. Escapes the input of clients, so that it cannot begin a line."""

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
        line = json.dumps({name: _cut(_shown(value)) for name, value in entry.items()}, default=str)
        # JSON has already escaped all other characters that a terminal would obey: non-ASCII and control characters.
        return line.replace("\x7f", "\\u007f")


def _shown(value: Any) -> Any:
    return without_secrets(value, _secret_paths) if isinstance(value, str) else value


def _cut(value: Any) -> Any:
    """Shortens a text to `LONGEST` characters and a mark. Keeps its end, which is as informative as its beginning."""
    if not isinstance(value, str) or len(value) <= LONGEST:
        return value
    half = LONGEST // 2
    return f"{value[:half]} [… {len(value) - 2 * half} characters left out …] {value[-half:]}"


@dataclass
class _Message:
    # Stores no record, because its exception holds frames with the memory of a request.
    logger: str
    level: int
    beginning: str
    lines: int = 0


class Repetitions(logging.Filter):
    """Filter that passes `OFTEN` lines of a message each minute: same logger, level, template, place of the exception.

    It has no lock: one line more or less does not matter, and a process may be forked while another thread logs.
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
        """Logs the number of omitted lines of each message, at the end of the minute."""
        if (moment := monotonic()) < self._ends:
            return
        messages, self._messages, self._ends = self._messages, {}, moment + MINUTE
        # Another thread may still add to this minute: a mapping that changes must not be walked.
        for message in list(messages.values()):
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
    except (TypeError, ValueError, LookupError):  # arguments that do not fit: the handler reports them
        return str(record.msg)[:BEGINNING]


class StandardError(logging.Handler):
    """Handler that writes lines to standard error while there is room, and counts the omitted ones."""

    def __init__(self) -> None:
        super().__init__()
        self._unwritten = ""  # the rest of a partly written line
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
        except Exception:  # like every handler of logging: the code that logs must not fail
            self.handleError(record)

    def _write(self, seconds: float) -> bool:
        """Writes the rest, while there is room for each part within `seconds`. Returns True if all of it is written."""
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
_secret_paths: set[str] = set()


def configure(level: str) -> None:
    """Sends the logs of this process to standard error; `level` is the least severity."""
    # Python's handler of last resort. A program that embeds the app may add its own handler instead.
    handler = logging.lastResort = StandardError()
    handler.setFormatter(JsonFormatter())
    handler.addFilter(repetitions)
    handler.setLevel(logging.NOTSET)
    set_level(level)


def hide(secret_paths: Collection[str]) -> None:
    """Hides the variables of these declared paths in each line of this process: servers log paths, too."""
    _secret_paths.update(secret_paths)


def set_level(level: str) -> None:
    """Sets the least severity that is logged."""
    logging.root.setLevel(level.upper())


def request_lines(live: LiveSettings, secret_paths: Collection[str] = ()) -> Callable[[Request, Response], Response]:
    """Returns a function that logs a line for each request if `log_requests` is set, but none for 100 Continue.

    secret_paths  declared paths with variables that no line shows
    """
    def log_answer(request: Request, response: Response) -> Response:
        if live.current.log_requests and response.status_code != 100 and requests.isEnabledFor(logging.INFO):
            call: Answered | None = g.get("call")
            principal = None if call is None else call.actor
            path = without_secret(request.path, secret_paths)
            requests.info("%s %s", request.method, path, extra={"fields": {
                "status": response.status_code, "code": g.get("problem"),
                "milliseconds": round(trace.elapsed(request.environ) * 1000, 3),
                "principal": None if principal is None else principal.key, "address": request.remote_addr}})
        return response

    return log_answer
