"""The commands of a document, typed into one shell beside a served instance, and compared with the shown answers.

A block of commands (```sh) may be followed by its answer: ```json for a body, ```http for the output of `curl -i` (the
status line, some of the headers, a blank line, the body), ```text for lines. `…` stands for omitted parts: in a text
for any characters, among members or entries for any others, in place of a body for any body.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[…{}\[\]:,]|[^"…{}\[\]:,]+')
_END = "--- end of block {} ---"


@dataclass(frozen=True)
class Typed:
    """A block of commands, and the block after it: its kind (json, http, text) and its text."""

    commands: str
    kind: str = ""
    shown: str = ""


def blocks(document: str) -> list[Typed]:
    """Returns every block of commands in order."""
    found = [*_BLOCK.findall(document), ("", "")]
    return [Typed(text, *(after if after[0] in ("json", "http", "text") else ("", "")))
            for (kind, text), after in pairwise(found) if kind == "sh"]


def script(typed: list[Typed]) -> str:
    """Returns a script of all blocks for one shell, which stops at the first failure."""
    return "set -euo pipefail\n" + "".join(f"{one.commands}\necho; echo '{_END.format(number)}'\n"
                                           for number, one in enumerate(typed))


def printed(output: str, typed: list[Typed]) -> list[str]:
    """Splits the output of the whole `script` into the output of each block."""
    parts = re.split("|".join(re.escape(_END.format(number)) for number in range(len(typed))), output)
    return [part.strip("\n") for part in parts[:len(typed)]]


def differences(one: Typed, output: str) -> list[str]:
    """Returns the shown lines that were not printed."""
    match one.kind:
        case "json":
            return list(_unlike(_pattern(one.shown), json.loads(output), "the body"))
        case "http":
            return list(_unlike_answer(one.shown, output.replace("\r", "")))
        case "text":
            lines = output.splitlines()
            return [line for line in one.shown.splitlines() if not any(_is_like(line, found) for found in lines)]
    return []


def _unlike_answer(shown: str, output: str) -> Iterator[str]:
    (head, _, body), (real_head, _, real_body) = shown.partition("\n\n"), output.partition("\n\n")
    (status, *headers), (real_status, *real_headers) = head.splitlines(), real_head.splitlines()
    if status != real_status:
        yield f"{status} is {real_status}"
    real = {name.lower(): value for name, _, value in (line.partition(": ") for line in real_headers)}
    for line in headers:
        name, _, value = line.partition(": ")
        if name.lower() not in real or not _is_like(value, real[name.lower()]):
            yield f"{line} is {real.get(name.lower())}"
    if body.strip() == "…":
        return
    if "json" in real.get("content-type", ""):
        yield from _unlike(_pattern(body), json.loads(real_body), "the body")
    elif not _is_like(body.strip(), real_body.strip()):
        yield f"{body} is {real_body}"


def _is_like(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text, re.DOTALL) is not None


def _pattern(shown: str) -> Any:
    """Returns JSON in which a bare … becomes the text "…", as a value, an entry, or a member of that name."""
    made, inside, before = [], [""], ""
    for token in _TOKEN.findall(shown):
        if token in "{[":
            inside.append(token)
        elif token in "}]":
            inside.pop()
        made.append(('"…": "…"' if inside[-1] == "{" and before != ":" else '"…"') if token == "…" else token)
        before = token if token.strip() else before
    return json.loads("".join(made))


def _unlike(pattern: Any, real: Any, where: str) -> Iterator[str]:
    match pattern, real:
        case ("…", _):
            return
        case (dict(), dict()):
            further = "…" in pattern
            for name in sorted(pattern.keys() - {"…"}):
                if name in real:
                    yield from _unlike(pattern[name], real[name], f"{where}.{name}")
                else:
                    yield f"{where}.{name} is not there"
            if not further and (unknown := real.keys() - pattern.keys()):
                yield f"{where} has {sorted(unknown)} too"
        case (list(), list()):
            entries = [entry for entry in pattern if entry != "…"]
            if len(entries) > len(real) or (len(entries) < len(real) and "…" not in pattern):
                yield f"{where} has {len(real)} entries"
            for number, (entry, found) in enumerate(zip(entries, real, strict=False)):
                yield from _unlike(entry, found, f"{where}[{number}]")
        case (str(), str()) if _is_like(pattern, real):
            return
        case _ if pattern != real or type(pattern) is not type(real):
            yield f"{where}: {pattern!r} is {real!r}"
