"""Serializers of rows as files for schemathesis, which loads this module by SCHEMATHESIS_HOOKS."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson", "text/csv")
def as_file(ctx: Any, value: Any) -> bytes:
    """Returns text unchanged, which is rarely a valid file; other values as JSON, a list with a line for each entry."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    lines = value if isinstance(value, list) else [value]
    return "\n".join(json.dumps(line) for line in lines).encode()
