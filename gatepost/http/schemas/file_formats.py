"""Files of rows: NDJSON, and CSV (RFC 4180) whose cells no spreadsheet reads as formulas.

A file that was written can be read without loss. In CSV an empty cell is null. A text that is empty or looks like a
formula is written with an apostrophe in front, which `read` removes. Any other apostrophe is part of the text.
"""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, BinaryIO

import orjson
from marshmallow import Schema, fields

from ..protocol.json_body import parse_object, unstorable
from ..protocol.json_pointer import below
from ..protocol.messages import Message
from ..protocol.problems import MOST_FAULTS, Fault, Problem

NDJSON, CSV = "application/x-ndjson", "text/csv"
MEDIA_TYPES = (NDJSON, CSV)
LONGEST = 8 * 2**20  # bytes of a line of NDJSON, characters of a cell: more than any exported row has
_CHUNK = 2**16  # bytes that are handed on at a time
# Includes line feed and full-width forms, because some spreadsheets treat them like the ASCII characters.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")

Row = Mapping[str, Any]
NumberedRow = tuple[int, dict[str, Any] | Problem]
"""A line number, counted from 1, and its row, or the error of the line."""


def write(media_type: str, names: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """Yields the rows as chunks of bytes; `names` are the columns of CSV, in order."""
    chunk = bytearray()
    for line in _ndjson(rows) if media_type == NDJSON else _csv(names, rows):
        chunk += line
        if len(chunk) >= _CHUNK:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)


def read(media_type: str, stream: BinaryIO, schema: Schema) -> Iterator[NumberedRow]:
    """Yields the rows of a file. For a bad line it yields a `Problem` and continues.

    Raises `Problem` if the rest of the file cannot be read; then the whole file is refused.
    """
    return _read_ndjson(stream) if media_type == NDJSON else _read_csv(stream, schema)


def _ndjson(rows: Iterable[Row]) -> Iterator[bytes]:
    for row in rows:
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _csv(names: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in names])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    # The header of a file without rows.
    yield text.getvalue().encode()


def _read_ndjson(stream: BinaryIO) -> Iterator[NumberedRow]:
    number = 0
    while line := stream.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST:
            while not line.endswith(b"\n") and (line := stream.readline(LONGEST)):
                pass
            yield number, Problem("body_too_large", Message("A line has at most {most} bytes.", most=LONGEST))
            continue
        if number == 1:
            line = line.removeprefix(BOM_UTF8)
        if not line.strip():
            continue
        try:
            # Without its line break, so that the error of a truncated line has a place in this line.
            yield number, parse_object(line.rstrip(b"\r\n"), line=number)
        except Problem as problem:
            yield number, problem


def _read_csv(stream: BinaryIO, schema: Schema) -> Iterator[NumberedRow]:
    # The module's own limit, the same for all readers of the process, is lower than our longest text.
    csv.field_size_limit(LONGEST)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    reader = csv.reader(text, strict=True)
    number = 1
    try:
        header = next(reader, [])
        _check_header(header, schema)
        readings = [schema.fields[name] for name in header]
        while True:
            # A cell may contain line breaks, so a row begins after the last line of the previous row.
            number = reader.line_num + 1
            cells = next(reader, None)
            if cells is None:
                return
            if cells:
                yield number, _row(header, cells, readings)
    except csv.Error as error:
        raise not_csv(error, number) from None
    except UnicodeDecodeError:
        raise _unreadable(Message("The file is not UTF-8. Save it as CSV in UTF-8."), number) from None
    finally:
        with suppress(ValueError):  # the file may be closed before its reader
            text.detach()


def _check_header(header: list[str], schema: Schema) -> None:
    if schema.fields.keys().isdisjoint(header):  # the first line may be a row: the error must not repeat its values
        raise _unreadable(Message("The first line must have the names of the columns."), 1)
    unknown = (Fault("unknown_field", "There is no such field.", pointer=below("", name[:80]), meta={"line": 1})
               for name in header if name not in schema.fields)
    repeated = (Fault("invalid_body", "A column is named twice.", pointer=below("", name[:80]), meta={"line": 1})
                for name, times in Counter(header).items() if times > 1)
    if faults := list(islice(chain(unknown, repeated), MOST_FAULTS)):
        raise Problem("invalid_body", "The first line must name each column once.", faults)


def not_csv(error: csv.Error, line: int) -> Problem:
    """Returns the problem of a table that the CSV reader cannot read."""
    return _unreadable(Message("This is not CSV: {what}.", what=Message(str(error))), line)


def _unreadable(detail: Message, line: int) -> Problem:
    return Problem("invalid_body", detail, [Fault("invalid_body", detail, meta={"line": line})])


def _row(header: list[str], cells: list[str], readings: list[fields.Field[Any]]) -> dict[str, Any] | Problem:
    if len(cells) != len(header):
        return Problem("invalid_body", Message("There are {cells} cells for {columns} columns.", cells=len(cells),
                                               columns=len(header)))
    row = {}
    for name, cell, field in zip(header, cells, readings, strict=True):
        if (reason := unstorable(cell)) is not None:
            return Problem.of([Fault("invalid_field", reason, pointer=f"/{name}")], "invalid_body")
        row[name] = _value(cell, field)
    return row


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case str():
            return f"'{value}" if _is_protected(value) else value
    return orjson.dumps(value).decode()


def _value(cell: str, field: fields.Field[Any]) -> Any:
    """Returns the JSON value of a cell. A cell of another type stays text, which the schema refuses."""
    if not cell:
        return None
    match field:
        case fields.Integer() if len(cell) <= 20 and cell.isascii() and cell.removeprefix("-").isdigit():
            return int(cell)
        case fields.Boolean() if cell in ("true", "false"):
            return cell == "true"
        case fields.List() | fields.Nested() | fields.Dict():
            try:
                return orjson.loads(cell)
            except orjson.JSONDecodeError:
                return cell
    text = cell.removeprefix("'")
    return text if _is_protected(text) else cell


def _is_protected(text: str) -> bool:
    """True if a spreadsheet would read the text as a formula, or if `read` would return null for it."""
    return not text or text.startswith(_FORMULA)
