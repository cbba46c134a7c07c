"""Tells schemathesis how rows go into files: it loads this module by SCHEMATHESIS_HOOKS."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson", "text/csv")
def as_file(ctx: Any, value: Any) -> bytes:
    """Text as it is, so that most files are none; every other value as JSON, a line for each of a list."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    lines = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(line) for line in lines).encode()
