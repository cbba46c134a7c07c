"""Printing of commands: a terminal shows every stored value as text, and executes no control sequence in it.

Control characters, line breaks within a value, characters that change the text direction, and all other invisible
characters are printed as escapes, `\\x1b` or `\\u202e`. JSON has them as JSON's own escapes, so a program reads the
stored value. Files for programs, such as exports, are printed unchanged unless the output is a terminal.
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

PATIENCE = 1.0  # seconds until the progress is shown


def visible(text: object) -> str:
    """Returns the text with an escape for each invisible character, line breaks included."""
    return _escaped(str(text), "", _as_in_python)


def json_visible(text: str) -> str:
    """Returns JSON text with a JSON escape for each invisible character, except for line breaks between lines."""
    return _escaped(text, "\n", _as_in_json)


def lines_visible(text: str) -> str:
    """Returns the text with an escape for each invisible character, except for line breaks and tabs."""
    return _escaped(text, "\n\t", _as_in_python)


def echo(text: object, *, mark: str = "", err: bool = False) -> None:
    """Prints one line; `mark` is a constant before it, and may be styled."""
    click.echo(mark + visible(text), err=err)


def echo_lines(text: str, *, mark: str = "", nl: bool = True) -> None:
    """Prints lines of the command. The values in them must have no line breaks."""
    click.echo(mark + lines_visible(text), nl=nl)


def echo_json(data: Any, *, indent: int | None = None) -> None:
    """Prints data as JSON, with an escape for each invisible character."""
    separators = None if indent else (",", ":")
    click.echo(json_visible(json.dumps(data, ensure_ascii=False, indent=indent, separators=separators)))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Shows the progress of long work: `Comparing: 34 of 105`. Yields a function of the done and the total number.

    Prints only on a terminal, after `PATIENCE` seconds, and clears the line at the end.
    """
    stream, start, width = sys.stderr, monotonic(), 0

    def tell(done: int, whole: int) -> None:
        nonlocal width
        if stream.isatty() and monotonic() - start >= PATIENCE:
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
    """A group of commands that escapes invisible characters in errors and log messages.

    All lines of an error but the first are indented, so that a quoted line break cannot forge an error.
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


def _escaped(text: str, allowed: str, escape: Callable[[str], str]) -> str:
    if text.isprintable() and UNSEEN.search(text) is None:
        return text
    return "".join(char if char in allowed or (char.isprintable() and UNSEEN.match(char) is None) else escape(char)
                   for char in text)


def _as_in_python(char: str) -> str:
    return char.encode("unicode_escape").decode()


def _as_in_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start:start + 4]}" for start in range(0, len(units), 4))
