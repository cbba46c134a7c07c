"""Rows as files: NDJSON, and CSV (RFC 4180) that no spreadsheet takes for formulas.

What is written can be read again unchanged. In CSV an empty cell is null; a text that is empty or begins like a
formula gets an apostrophe in front, which reading takes away. An apostrophe that protects nothing is part of the text.
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
LONGEST = 8 * 2**20  # bytes of a line of NDJSON, characters of a cell: more than any row that was exported
_CHUNK = 2**16  # bytes that are handed on at a time
# Line feed and the full-width forms too: some spreadsheets take them for their ASCII cousins.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")

Row = Mapping[str, Any]
NumberedRow = tuple[int, dict[str, Any] | Problem]
"""A line number, counted from 1, and its row, or what is wrong with it."""


def write(media_type: str, names: Sequence[str], rows: Iterable[Row]) -> Iterator[bytes]:
    """The rows as chunks of bytes; `names` are the columns of CSV, in order."""
    chunk = bytearray()
    for line in _ndjson(rows) if media_type == NDJSON else _csv(names, rows):
        chunk += line
        if len(chunk) >= _CHUNK:
            yield bytes(chunk)
            chunk.clear()
    if chunk:
        yield bytes(chunk)


def read(media_type: str, stream: BinaryIO, schema: Schema) -> Iterator[NumberedRow]:
    """The rows of a file, one at a time. Bad lines come as the `Problem` that they are; reading goes on.

    Raises `Problem` for a file of which no more can be understood: it is refused as a whole.
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
            # Without its end: where a line breaks off too soon is no place in the next one.
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
            # A row begins after the line in which the one before it ended: a cell may hold line breaks.
            number = reader.line_num + 1
            cells = next(reader, None)
            if cells is None:
                return
            if cells:
                yield number, _row(header, cells, readings)
    except csv.Error as error:
        raise _unreadable(Message("This is not CSV: {what}.", what=Message(str(error))), number) from None
    except UnicodeDecodeError:
        raise _unreadable(Message("The file is not UTF-8."), number) from None
    finally:
        with suppress(ValueError):  # the file may be closed before its reader
            text.detach()


def _check_header(header: list[str], schema: Schema) -> None:
    if schema.fields.keys().isdisjoint(header):  # also where the first line is a row: nobody is told its values
        raise _unreadable(Message("The first line names the columns."), 1)
    unknown = (Fault("unknown_field", "There is no such field.", pointer=below("", name[:80]), meta={"line": 1})
               for name in header if name not in schema.fields)
    repeated = (Fault("invalid_body", "A column is named twice.", pointer=below("", name[:80]), meta={"line": 1})
                for name, times in Counter(header).items() if times > 1)
    if faults := list(islice(chain(unknown, repeated), MOST_FAULTS)):
        raise Problem("invalid_body", "The first line names every column once.", faults)


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
    """A cell as JSON would have it; what does not fit stays text, for the schema to refuse."""
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
    """True if a spreadsheet would take the text for a formula, or a reader of ours for nothing."""
    return not text or text.startswith(_FORMULA)
