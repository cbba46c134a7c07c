"""A rule file while it is edited: its text, the policy that it was made of, and how an editor shows it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, ClassVar

from marshmallow import Schema, ValidationError, fields, post_load
from werkzeug.datastructures import MultiDict

from gatepost import Int, Line, StrictSchema

from ..changing import ApplySchema, TrySchema

_END = "# end"  # the last line of a rule file


@dataclass(frozen=True)
class Draft:
    """One file as a user has edited it.

    base   version of the policy that it was made from
    replays  true if the trial includes a replay of the last days
    marks  numbers of the lines to highlight
    """

    file: str
    text: str
    base: str
    note: str = ""
    replays: bool = True
    marks: Collection[int] = field(default=frozenset())

    @classmethod
    def sent(cls, form: MultiDict[str, str]) -> Draft:
        """Reads a draft from a form. If the policy has changed since, the user can rebase the draft on the new one."""
        return cls(form.get("file", ""), with_plain_ends(form.get("text", "")),
                   form.get("_rebase") or form.get("base_version", ""), form.get("note", ""), "replay_days" in form)

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def seal(self) -> str:
        """Digest of the text, which shows if it was edited after the trial."""
        return sha256(json.dumps([self.base, self.file, self.text]).encode()).hexdigest()

    def numbers(self, marks: Mapping[int, str]) -> list[tuple[int, str, str]]:
        """Returns its line numbers in pieces: (0, "", numbers one below the other) or (a marked line, its kind, "")."""
        pieces, start, last = list[tuple[int, str, str]](), 1, len(self.lines)
        for number in sorted(mark for mark in marks if 1 <= mark <= last):
            if start < number:
                pieces.append((0, "", _below_each_other(start, number)))
            pieces.append((number, marks[number], ""))
            start = number + 1
        if start <= last:
            pieces.append((0, "", _below_each_other(start, last + 1)))
        return pieces

    def with_line(self, line: str) -> Draft:
        """Returns the draft with one more line, below the last of its kind (`p`, `g`, `never`), else above the end."""
        lines, kind = self.lines, line.partition(",")[0].strip()
        alike = [number for number, text in enumerate(lines) if text.partition(",")[0].strip() == kind]
        ends = [number for number, text in enumerate(lines) if text.strip() == _END]
        place = alike[-1] + 1 if alike else ends[-1] if ends else len(lines)
        text = "\n".join([*lines[:place], line, *lines[place:]])
        return replace(self, text=text, marks=frozenset((place + 1,)))


class _FormSchema(StrictSchema):
    """Fields that a form sends besides files. The API knows them as the fields of `API`."""

    API: ClassVar[type[Schema]] = TrySchema

    base_version = Line(maximum=100)
    note = Line(maximum=500)
    replay_days = Int()

    @post_load
    def as_api(self, loaded: dict[str, Any], **kwargs: Any) -> Any:
        schema = self.API()
        sent = {**loaded, "files": self.files_of(loaded)}
        return schema.load({name: value for name, value in sent.items() if name in schema.fields})

    def files_of(self, loaded: dict[str, Any]) -> Any:
        """Returns the files as the API has them. Raises `ValidationError`."""
        raise NotImplementedError


class EditSchema(_FormSchema):
    """Fields of the form of one file."""

    file = fields.String(required=True)
    text = fields.String(required=True)

    def files_of(self, loaded: dict[str, Any]) -> Any:
        return {loaded["file"]: with_plain_ends(loaded["text"])}


class EditToApplySchema(EditSchema):
    API = ApplySchema


class FilesSchema(_FormSchema):
    """Fields of a form that changes several files. `files` is JSON, as in the API."""

    files = fields.String(required=True)

    def files_of(self, loaded: dict[str, Any]) -> Any:
        try:
            return json.loads(loaded["files"])
        except (ValueError, RecursionError):
            raise ValidationError("Invalid value.", "files") from None


class FilesToApplySchema(FilesSchema):
    API = ApplySchema


def with_plain_ends(text: str) -> str:
    """Returns the text as a file has it. Browsers send CR LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _below_each_other(start: int, end: int) -> str:
    return "\n".join(map(str, range(start, end)))
