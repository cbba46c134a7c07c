"""Departments and groups that no condition can name: each Casbin reads other characters of a text otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from policies.syntax.operands import TEXTS, wrong_text

MOST_NAMED = 5


def unnamed(departments: Iterable[str], groups: Iterable[str]) -> str:
    """A sentence about those that no condition can name; empty when each can be named."""
    found = [f"the {kind} {name!r}" for kind, names in (("department", departments), ("group", groups))
             for name in sorted(set(names)) if wrong_text(name)]
    if not found:
        return ""
    others = f", and {len(found) - MOST_NAMED} others" if len(found) > MOST_NAMED else ""
    return (f"No condition can name {', '.join(found[:MOST_NAMED])}{others}: {TEXTS}. Only a comparison with a column "
            "finds other names, such as inGroup(r.sub, r.obj.department).")
