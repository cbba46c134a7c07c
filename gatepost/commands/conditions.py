"""Departments and groups that no condition can name, because Casbin's implementations read some characters differently.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.syntax.operands import TEXTS, wrong_text

MOST_NAMED = 5


def unnamed(departments: Iterable[str], groups: Iterable[str]) -> str:
    """Returns a sentence about those that no condition can name; "" if each can be named."""
    wrong = [f"the {kind} {name!r}" for kind, names in (("department", departments), ("group", groups))
             for name in sorted(set(names)) if wrong_text(name)]
    if not wrong:
        return ""
    others = f", and {len(wrong) - MOST_NAMED} others" if len(wrong) > MOST_NAMED else ""
    return (f"No condition can name {', '.join(wrong[:MOST_NAMED])}{others}: {TEXTS}. Only a comparison with a column "
            "finds other names, such as inGroup(r.sub, r.obj.department).")
