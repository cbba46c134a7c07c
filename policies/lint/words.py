"""Names of rules and roles in findings."""

from __future__ import annotations

from collections.abc import Collection

from ..syntax.rules import Rule

MOST_PLACES = 3


def listed(names: Collection[str]) -> str:
    """`support`, `owner and support`, `owner, support and 3 more`."""
    shown = list(names)
    if len(shown) > MOST_PLACES + 1:
        shown = [*shown[:MOST_PLACES], f"{len(shown) - MOST_PLACES} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def places(rules: Collection[Rule]) -> str:
    """`orders.csv:16`, or several of them."""
    return listed([rule.place for rule in sorted(rules, key=lambda rule: (rule.file, rule.line))])


def quoted(rule: Rule) -> str:
    """`orders.csv:16 (support, order.view, always, allow)`."""
    return f"{rule.place} ({rule.sub}, {rule.act}, {rule.when}, {rule.eft})"


def verb(lines: Collection[object], one: str, several: str) -> str:
    """The verb for one subject or for several."""
    return one if len(lines) == 1 else several
