"""Rows as files: NDJSON, and CSV (RFC 4180) that no spreadsheet takes for formulas.

What is written can be read again unchanged. In CSV an empty cell is null; a text that is empty or begins like a
formula gets an apostrophe in front, which reading takes away.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, BinaryIO

import orjson
from marshmallow import Schema, fields

from .body import parse_object, unstorable
from .errors import Problem

NDJSON, CSV = "application/x-ndjson", "text/csv"
MEDIA_TYPES = (NDJSON, CSV)
LONGEST_LINE = 2**20  # bytes
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")

Row = Mapping[str, Any]
Line = tuple[int, dict[str, Any] | Problem]
"""A line number, counted from 1, and its row, or what is wrong with it."""


def write(media_type: str, names: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """The rows as chunks of bytes; `names` are the columns of CSV, in order."""
    if media_type == NDJSON:
        for row in rows:
            yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
        return
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    if text.tell():
        yield text.getvalue().encode()


def read(media_type: str, stream: BinaryIO, schema: Schema) -> Iterator[Line]:
    """The rows of a file, one at a time. Bad lines come as the `Problem` that they are; reading goes on."""
    return _read_ndjson(stream) if media_type == NDJSON else _read_csv(stream, schema)


def _read_ndjson(stream: BinaryIO) -> Iterator[Line]:
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            yield number, Problem("body_too_large", f"A line has at most {LONGEST_LINE} bytes.")
            return
        if not line.strip():
            continue
        try:
            yield number, parse_object(line)
        except Problem as problem:
            yield number, problem


def _read_csv(stream: BinaryIO, schema: Schema) -> Iterator[Line]:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    reader = csv.reader(text, strict=True)
    try:
        header = next(reader, [])
        if len(set(header)) != len(header) or not header:
            yield 1, Problem("invalid_body", "The first line names every column once.")
            return
        while True:
            number = reader.line_num + 1
            try:
                cells = next(reader, None)
            except csv.Error as error:
                yield number, Problem("invalid_body", f"This is not CSV: {error}.")
                return
            if cells is None:
                return
            if cells:
                yield number, _row(header, cells, schema)
    except UnicodeDecodeError:
        yield reader.line_num + 1, Problem("invalid_body", "The file is not UTF-8.")
    finally:
        text.detach()


def _row(header: list[str], cells: list[str], schema: Schema) -> dict[str, Any] | Problem:
    if len(cells) != len(header):
        return Problem("invalid_body", f"There are {len(cells)} cells for {len(header)} columns.")
    for cell in cells:
        if (reason := unstorable(cell)) is not None:
            return Problem("invalid_field", reason)
    return {name: _value(cell, schema.fields.get(name)) for name, cell in zip(header, cells, strict=True)}


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return f"'{value}" if not value or value.startswith(_FORMULA) else value
    return orjson.dumps(value).decode()


def _value(cell: str, field: fields.Field[Any] | None) -> Any:
    """A cell as JSON would have it; what does not fit stays text, for the schema to refuse."""
    if not cell:
        return None
    if isinstance(field, fields.Integer) and cell.removeprefix("-").isdecimal() and len(cell) <= 20:
        return int(cell)
    if isinstance(field, fields.Boolean) and cell in ("true", "false"):
        return cell == "true"
    if isinstance(field, fields.List | fields.Nested | fields.Dict):
        try:
            return orjson.loads(cell)
        except orjson.JSONDecodeError:
            return cell
    return cell.removeprefix("'")
