"""Files that a request proposes for the policy: their names and sizes, and the rules that the caller may change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from marshmallow import ValidationError, fields

from gatepost import Call, Message, Problem
from gatepost.rules.redaction import hidden_ids, visible_persons
from policies import Policy
from policies.loading.files import LARGEST_FILE
from policies.loading.loader import CASES_FILE
from policies.questions.named_users import changed_users
from policies.syntax.model import MODEL_FILE

LARGEST = 4 << 20  # bytes of all of them
LARGEST_BODY = 2 * LARGEST  # of a request: escaped, a text is longer
_NAME = re.compile(r"[a-z0-9_-]{1,100}\.csv")

Files = Mapping[str, str | None]


class PolicyFiles(fields.Dict):
    """File name → the whole text of that file; null: the file is to go. What is not named stays as it is."""

    def __init__(self, **kwargs: Any) -> None:
        about = (f"File name → its whole text, of at most {LARGEST_FILE >> 20} MiB ({LARGEST >> 20} MiB together); "
                 f"null: the file goes. Names are those of rules (`name.csv`), `{MODEL_FILE}` and `{CASES_FILE}`.")
        example = {"mine.csv": "p, support, audit.view, always, allow\n# end"}
        super().__init__(keys=fields.String(), values=fields.String(allow_none=True),
                         metadata={"description": about, "example": example}, **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise self.make_error("invalid")
        faults = {name: [fault] for name, text in value.items() if (fault := fault_of(name, text)) is not None}
        if faults:
            raise ValidationError(faults)
        if sum(len(text.encode()) for text in value.values() if text is not None) > LARGEST:
            raise ValidationError(Message("The files have more than {most} bytes together.", most=LARGEST))
        return value


def fault_of(name: str, text: object) -> str | None:
    """Returns the reason why a policy file cannot have this name or this text; None if it can."""
    if name not in (MODEL_FILE, CASES_FILE) and not _NAME.fullmatch(name):
        return Message("No policy file has this name. Known are name.csv, {model} and {cases}.", model=MODEL_FILE,
                       cases=CASES_FILE)
    if text is not None and not isinstance(text, str):
        return Message("Not a valid string.")
    if text is not None and len(text.encode()) > LARGEST_FILE:
        return Message("The file has more than {most} bytes.", most=LARGEST_FILE)
    return None


def refuse_hidden(call: Call, files: Files) -> None:
    """Raises 403 for a change of rules that name users hidden from the caller: those of other tenants."""
    live = {name: content.decode() for name, content in call.access.policy.files.items()}
    lines = [(_lines(live.get(name)), _lines(text)) for name, text in files.items()]
    if hidden_ids(call, (line for before, after in lines for line in (before - after) + (after - before))):
        raise _not_theirs()


def refuse_about_others(call: Call, new: Policy) -> None:
    """Raises 403 for a policy that changes what such users may do, also by a condition that names them."""
    named = changed_users(call.access.policy, new)
    if not named <= visible_persons(call, named):
        raise _not_theirs()


def _not_theirs() -> Problem:
    return Problem("forbidden", "The change also affects rules about users of other tenants, or about users that do "
                                "not exist. An operator can make it with a command.")


def _lines(text: str | None) -> Counter[str]:
    return Counter(line.strip() for line in (text or "").splitlines())


def visible(call: Call, items: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the findings and changes without those about users hidden from the caller."""
    listed = list(items)
    persons = visible_persons(call, {person for item in listed for person in _persons(item)})
    return [item for item in listed if set(_persons(item)) <= persons]


def _persons(item: Mapping[str, Any]) -> list[str]:
    user = item.get("user")
    return [person for person in (item.get("person"), user and f"user:{user}") if person]
