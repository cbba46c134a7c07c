"""Sources of settings: a file, the environment, options; and errors in them."""

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
    """A setting is unknown or its value is invalid; the text names it, its source and the allowed values."""


@dataclass(frozen=True)
class Known:
    """The declaration of a setting, by its name in a source.

    key    its name elsewhere
    field  reads and checks its value
    table  the entries of its default, if it is a table
    """

    key: str
    field: fields.Field[Any]
    secret: bool
    table: Mapping[str, Any] | None = None


def from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yields ``GATEPOST_A=x`` as (a, x) and ``GATEPOST_A__B=x`` as (a, {b: x}), as Flask's from_prefixed_env does.

    Values remain text, because a password of digits must not become a number.
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
    """Returns the environment of this process with these settings added, for a child process."""
    return {**os.environ, **{PREFIX + name.upper(): value for name, value in values.items()}}


def read_toml(file: Path) -> dict[str, Any]:
    """Reads a TOML file; returns {} if it does not exist. Raises SettingError."""
    try:
        return tomllib.loads(_text(file))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingError(f"{file}: cannot be read: {error}") from error
    except RecursionError:
        raise SettingError(f"{file}: cannot be read: tables or lists are nested too deep") from None


def _text(file: Path) -> str:
    # O_NONBLOCK, because reading a FIFO would block, and with it every later reload.
    with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise SettingError(f"{file}: cannot be read: this is not a regular file")
        content = opened.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise SettingError(f"{file}: cannot be read: the file has more than {_LARGEST >> 20} MiB")
    return content.decode("utf-8").replace("\r\n", "\n")


def merge(values: dict[str, Any], source: Mapping[str, Any], where: str, declared: Mapping[str, Known],
          prefix: str = "") -> None:
    """Checks the values of one source and adds them to `values`. The entries of a table are merged."""
    wrong = []
    for name, raw in source.items():
        label = prefix + name.upper() if prefix else name
        if name not in declared:
            similar = difflib.get_close_matches(name, declared, n=1)
            hint = f"; did you mean {prefix + similar[0].upper() if prefix else similar[0]}?" if similar else ""
            wrong.append(f"{label} ({where}): there is no such setting{hint}")
            continue
        setting = declared[name]
        try:
            value = setting.field.deserialize(str(raw) if isinstance(raw, Path) else raw)
        except ValidationError as error:
            quoted = REDACTED if setting.secret else repr(raw)
            wrong.append(f"{label} ({where}): {quoted} is not allowed: {_allowed(error.messages)}")
            continue
        if isinstance(value, dict) and setting.table is not None:
            value = values.get(setting.key, setting.table) | value
        values[setting.key] = value
    if wrong:
        raise SettingError("\n".join(wrong))


def _allowed(messages: Any) -> str:
    """Joins marshmallow's messages, which are nested if the value is a table, into one line."""
    if isinstance(messages, dict):
        return "; ".join(_allowed(inner) for inner in messages.values())
    return "; ".join(map(str, messages))
