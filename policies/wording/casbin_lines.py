"""Lines that are written for other models of Casbin, and what says the same here.

There, object and action are two columns, often a path and an HTTP method; a column may name a domain, or hold an
expression; and no condition follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from .columns import Kinds, effect_of
from .suggestions import nearest, singular

Known = Callable[[str], bool]
"""True for the permissions and patterns that there are."""

EXPRESSION = ("an expression belongs in model.conf: name it there, in a line such as "
              r"p.when == 'mine' && … || \, and write the name here")
GROUP = ("groups and departments are asked for by a condition in model.conf, such as inGroup(r.sub, 'name') or "
         "r.sub.department == 'name'")
NO_DOMAIN = "no column names a domain: each user belongs to one tenant"
ONE_COLUMN = "a permission is one column, <resource>.<action>"
_EFFECTS = ("allow", "deny")
_APART = "object and action are one column, and a condition follows"
_ACTIONS = {
    "view": ("read", "list", "get", "see", "show"), "create": ("add", "new", "post", "insert"),
    "update": ("edit", "write", "modify", "change", "put", "patch"), "delete": ("remove", "destroy", "erase"),
    "*": ("all", "any", "everything"),
}
_OPERATOR = re.compile(r"\br\d?[._](?:sub|obj|env|act|dom)\b|[=!<>]=|&&|\|\||\s[<>]\s")
_PATH = re.compile(r"(?:([A-Z]+) +)?(/.*)")


def has_expression(line: str) -> bool:
    """True if a column holds an expression instead of a word."""
    return bool(_OPERATOR.search(line))


def rule(columns: Sequence[str], kinds: Kinds) -> str:
    """Returns what to write instead of a rule with object and action in two columns, with or without a domain before
    them. Empty when it is no such rule, or one of unknown words."""
    for place in (1, 2):
        if len(columns) < place + 2 or (columns[1] != "*" and kinds["permission"](columns[1])):
            return ""
        first, second, *rest = columns[place:]
        if kinds["when"](second):
            continue
        if permission := joined(first, second, kinds["permission"]):
            return f"{_APART}{f'; {NO_DOMAIN}' * (place - 1)}; write {_with_rest(permission, rest, kinds)}"
    return ""


def _with_rest(permission: str, rest: Sequence[str], kinds: Kinds) -> str:
    """The columns behind the one who may, as far as the words behind object and action tell them."""
    when = next(filter(kinds["when"], rest), "")
    effects = [effect for word in rest if (effect := word if kinds["effect"](word) else effect_of(word))]
    if not when and any(not (kinds["effect"](word) or effect_of(word) or nearest(word, _EFFECTS)) for word in rest):
        # A word that nobody knows may be a misspelt condition: `always` would open more than is meant.
        return f"{permission}, the condition that is meant, {effects[0] if effects else 'allow or deny'}"
    # A word that is neither may be a misspelt deny.
    return ", ".join([permission, when or "always", *(effects or ["allow"] * (not rest))])


def permission_of(word: str, known: Known) -> str:
    """The permission or pattern that a word means whose action has another name, or is left out; empty when there is
    none."""
    if known(f"{word.casefold()}.*"):
        return f"{word.casefold()}.*"
    resource, _, action = word.casefold().rpartition(".")
    if not resource:
        return "*" if action in _ACTIONS["*"] else ""
    return joined(resource, action, known)


def joined(resource: str, action: str, known: Known) -> str:
    """The permission that two words mean, such as `orders` and `read`; empty when there is none."""
    if path := _PATH.fullmatch(resource):
        return _of_path(path[2], action, known)
    resource, action = resource.casefold(), action.casefold()
    if resource == action == "*":
        return "*"
    meant = (action, *(name for name, words in _ACTIONS.items() if action in words))
    return next((one for name in (resource, singular(resource)) for act in meant if known(one := f"{name}.{act}")), "")


def of_path(word: str, known: Known) -> str:
    """Returns what to write instead of a path in the column of the permission; empty when the word is no path."""
    path = _PATH.fullmatch(word)
    if path is None:
        return ""
    example = _of_path(path[2], path[1] or "get", known)
    return f"a path is none; {ONE_COLUMN}{f', such as {example}' if example else ''}"


def _of_path(path: str, method: str, known: Known) -> str:
    """The permission of a path such as /api/orders, or /api/orders/:id/cancel, and a method."""
    parts = re.findall(r"(?<=/)\w+(?![^/])", path.casefold())
    resource = next((name for part in parts for name in (part, singular(part)) if known(f"{name}.*")), "")
    return joined(resource, parts[-1], known) or joined(resource, method, known) if resource else ""
