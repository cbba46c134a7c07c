"""Logs as JSON, one object a line: `time`, `level`, `logger`, `message`, and of a request `request_id`, `trace_id`.

A request's own line, when the setting `log_requests` asks for it, has its path without the query string, and neither
bodies nor headers: no secret gets there.
"""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

from flask import Flask, Response, g, has_request_context, request

from . import trace

requests = logging.getLogger("gatepost.request")


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; whatever a client sent is escaped, so that it cannot begin a line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        entry: dict[str, Any] = {"time": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "level": record.levelname.lower(),
                                 "logger": record.name, "message": record.getMessage()}
        if has_request_context():
            entry["request_id"] = trace.request_id()
            if (joined := trace.trace_id()) is not None:
                entry["trace_id"] = joined
        entry.update(getattr(record, "fields", ()))
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def configure(level: str) -> None:
    """Send the logs of this process to standard error; `level` is the least severity."""
    # What logging writes with where nobody has added a handler: whoever embeds the app and adds one is obeyed.
    handler = logging.lastResort
    assert handler is not None
    handler.setFormatter(JsonFormatter())
    handler.setLevel(logging.NOTSET)
    logging.root.setLevel(level.upper())


def install(app: Flask) -> None:
    """Log one line for every request."""

    @app.after_request
    def log_answer(response: Response) -> Response:
        if requests.isEnabledFor(logging.INFO):
            call = g.get("call")
            principal = None if call is None else getattr(call, "principal", None)
            requests.info("%s %s", request.method, request.path, extra={"fields": {
                "status": response.status_code, "code": g.get("problem"),
                "milliseconds": round(trace.elapsed(request.environ) * 1000, 3),
                "principal": None if principal is None else principal.key, "address": request.remote_addr}})
        return response
