"""How commands print: whatever is stored, or stands in a file, a terminal shows it and obeys none of it.

Control characters (terminal escapes, line breaks that would forge a line), characters that turn the direction of text,
and all others that cannot be seen are printed as escapes, `\\x1b` or `\\u202e`. JSON has them as JSON's own escapes, so
that a program reads what is stored. What is no text for a reader, such as the file of an export, is left as it is
unless its reader is a terminal.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import click

from gatepost.http.schemas.visible import UNSEEN

PATIENCE = 1.0  # seconds after which somebody who waits is shown how far the work has come


def visible(text: object) -> str:
    """Text of one line, with an escape for each character that a reader would not see as itself; also line breaks."""
    return _escaped(str(text), "", _as_in_python)


def json_visible(text: str) -> str:
    """The same lines of JSON with such characters, which stand in its strings alone, as escapes."""
    return _escaped(text, "\n", _as_in_json)


def lines_visible(text: str) -> str:
    """Text of several lines, in which line breaks and tabs stay."""
    return _escaped(text, "\n\t", _as_in_python)


def echo(text: object, *, mark: str = "", err: bool = False) -> None:
    """Print one line; `mark` is a constant that comes before it, and may be styled."""
    click.echo(mark + visible(text), err=err)


def echo_lines(text: str, *, mark: str = "", nl: bool = True) -> None:
    """Print lines that the command made: no value in them holds a line break of its own."""
    click.echo(mark + lines_visible(text), nl=nl)


def echo_json(data: Any, *, indent: int | None = None) -> None:
    """Print JSON that means the same, and holds no character that a reader would not see."""
    separators = None if indent else (",", ":")
    click.echo(json_visible(json.dumps(data, ensure_ascii=False, indent=indent, separators=separators)))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far a long work has come: `Comparing: 34 of 105`. On a terminal alone, once the work takes a second, and
    gone when it ends. What is yielded is told how much is done, and of how much."""
    stream, begun, width = sys.stderr, monotonic(), 0

    def tell(done: int, whole: int) -> None:
        nonlocal width
        if stream.isatty() and monotonic() - begun >= PATIENCE:
            text = f"{label}: {done} of {whole}"
            width = max(width, len(text))
            stream.write(f"\r{text}")
            stream.flush()

    try:
        yield tell
    finally:
        if width:
            stream.write(f"\r{' ' * width}\r")
            stream.flush()


class Group(click.Group):
    """Commands whose errors, and what is logged meanwhile, are printed as their output is.

    The first line of an error alone stands at the margin: a line break in what it quotes cannot forge another.
    """

    def invoke(self, ctx: click.Context) -> Any:
        if logging.lastResort is not None and logging.lastResort.formatter is None:
            logging.lastResort.setFormatter(_Lines())
        try:
            return super().invoke(ctx)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.ClickException as error:
            error.message = lines_visible(error.message).replace("\n", "\n  ")  # type: ignore[misc] # final in its stubs alone
            raise


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return lines_visible(super().format(record))


def _escaped(text: str, kept: str, escape: Callable[[str], str]) -> str:
    if text.isprintable() and UNSEEN.search(text) is None:
        return text
    return "".join(one if one in kept or (one.isprintable() and UNSEEN.match(one) is None) else escape(one)
                   for one in text)


def _as_in_python(one: str) -> str:
    return one.encode("unicode_escape").decode()


def _as_in_json(one: str) -> str:
    units = one.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start:start + 4]}" for start in range(0, len(units), 4))
