"""Where values come from: a file, the environment, options; and what is wrong with them."""

from __future__ import annotations

import difflib
import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marshmallow import ValidationError, fields

PREFIX = "GATEPOST_"
REDACTED = "********"
_LARGEST = 1 << 20  # bytes of a file of settings


class SettingError(ValueError):
    """A setting is unknown or has a value that is not allowed; the text names it, its source and what is."""


@dataclass(frozen=True)
class Known:
    """What is known of a setting under the name that a source has for it.

    key    its name everywhere else
    field  reads and checks its value
    table  the entries of its default, where it is a table
    """

    key: str
    field: fields.Field[Any]
    secret: bool
    table: Mapping[str, Any] | None = None


def from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """``GATEPOST_A=x`` as (a, x) and ``GATEPOST_A__B=x`` as (a, {b: x}), as Flask's from_prefixed_env has it.

    Values stay text: a password of digits must not become a number.
    """
    tables: dict[str, dict[str, str]] = {}
    for variable, text in environ.items():
        if not variable.startswith(PREFIX):
            continue
        name, _, entry = variable.removeprefix(PREFIX).lower().partition("__")
        if entry:
            tables.setdefault(name, {})[entry] = text
        else:
            yield name, text
    yield from tables.items()


def environment_with(values: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process, with these settings in it: for a process that is to have them, too."""
    return {**os.environ, **{PREFIX + name.upper(): value for name, value in values.items()}}


def read_toml(file: Path) -> dict[str, Any]:
    """What a file says; nothing where it is not there. Raises SettingError."""
    try:
        return tomllib.loads(_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{file}: cannot be read: {error}") from error
    except RecursionError:
        raise SettingError(f"{file}: cannot be read: tables or lists are nested too deep") from None


def _text(file: Path) -> str:
    # Never waited for: a FIFO would hold whoever reads it, and with it each reload after that.
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise SettingError(f"{file}: cannot be read: this is not a regular file")
        content = opened.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise SettingError(f"{file}: cannot be read: the file has more than {_LARGEST >> 20} MiB")
    return content.decode("utf-8").replace("\r\n", "\n")


def merge(values: dict[str, Any], source: Mapping[str, Any], where: str, declared: Mapping[str, Known],
          prefix: str = "") -> None:
    """Check what one source says and lay it over `values`; a table is completed, not replaced."""
    wrong = []
    for name, raw in source.items():
        shown = prefix + name.upper() if prefix else name
        if name not in declared:
            near = difflib.get_close_matches(name, declared, n=1)
            meant = f"; did you mean {prefix + near[0].upper() if prefix else near[0]}?" if near else ""
            wrong.append(f"{shown} ({where}): there is no such setting{meant}")
            continue
        known = declared[name]
        try:
            value = known.field.deserialize(str(raw) if isinstance(raw, Path) else raw)
        except ValidationError as error:
            given = REDACTED if known.secret else repr(raw)
            wrong.append(f"{shown} ({where}): {given} is not allowed: {_allowed(error.messages)}")
            continue
        if isinstance(value, dict) and known.table is not None:
            value = values.get(known.key, known.table) | value
        values[known.key] = value
    if wrong:
        raise SettingError("\n".join(wrong))


def _allowed(messages: Any) -> str:
    """Marshmallow's messages, which nest where the value is a table, as one line."""
    if isinstance(messages, dict):
        return "; ".join(_allowed(inner) for inner in messages.values())
    return "; ".join(map(str, messages))
