"""A matcher that cannot be read: which token is wrong, on which line, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# What other languages write, and what a matcher says for it.
OPERATORS = {"=": "==", "===": "==", "!==": "!=", "=>": ">=", "=<": "<=", "<>": "!=", "&": "&&", "|": "||"}
WORDS = {
    "and": "write &&", "or": "write ||", "not": "write !=, or !(…)", "is": "write ==",
    "in": "write (r.obj.status in['a', 'b']), in brackets of its own and no blank behind it, or inGroup(r.sub, 'a')",
    "like": "write ==", "between": "write >= and <=",
}
TRUTH = {"true": "== 1", "false": "== 0"}
AGE = ("a time takes no `+` and no `-`; write olderThan(r.obj.created_at, 'P90D'), or youngerThan(r.obj.created_at, "
       "'P90D')")
NOTHING = ("none", "null", "nil", "undefined")

_TOKEN = re.compile(
    r"""(?P<operand>'[^'\n]*'|"[^"\n]*"|[\w.…]+)|(?P<quote>['"])|(?P<operator>&&|\|\||[=!<>]=|[<>,])|(?P<negation>!)|"""
    r"""(?P<open>\()|(?P<close>\))|(?P<line>\n)|\S""",
)
_QUOTED = re.compile(r"""'[^'\n]*'|"[^"\n]*\"""")
_SPAN = re.compile(r"[-+]\s*\d+\s*(?:[smhdwy]|min|mins|(?:second|minute|hour|day|week|month|year)s?)\b", re.IGNORECASE)
_TIME = re.compile(r"(?:\b(?:now|today|date)|_at)\b|[\"']P\w*[\"']", re.ASCII)
_ROOTS = {"object": "obj", "subject": "sub", "user": "sub", "caller": "sub", "environment": "env", "context": "env",
          "request": "env", "obj": "obj", "sub": "sub", "env": "env"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


def balance(text: str) -> int:
    """The number of brackets that are still open at the end of `text`."""
    kinds = [token.kind for token in _tokens(text)]
    return kinds.count("open") - kinds.count("close")


def diagnosis(text: str) -> tuple[int, str] | None:
    """The line within `text`, from 0, and a sentence of what is wrong there; None when that is unclear."""
    # A number with a unit is no token of Python: `r.env.now - 90d`.
    if span := _SPAN.search(_QUOTED.sub(lambda quoted: " " * len(quoted.group()), text)):
        return text.count("\n", 0, span.start()), AGE
    tokens = list(_tokens(text))
    return _open_quote(tokens) or _neighbours(tokens) or _brackets(tokens)


def adds_to_time(text: str) -> bool:
    """True if a sum or a difference is one with a time: `r.env.now - 'P90D'`."""
    return bool(_TIME.search(text))


def word(text: str) -> str:
    """Suggests a replacement for a word of another language; empty if it is not one."""
    folded = text.casefold()
    if folded in WORDS:
        return f"`{text}` is no word of a matcher; {WORDS[folded]}"
    if folded in TRUTH:
        return f"`{text}` reads differently in each Casbin; write {TRUTH[folded]}"
    if folded in NOTHING:
        return f"`{text}` is no word of a matcher; a missing value matches nothing, so leave this comparison out"
    return ""


def operand(text: str, attributes: frozenset[str]) -> str:
    """The operand that `text` was meant to be, such as `r.obj.status` for `obj.status`; empty when it is unclear.

    `attributes` are the names of r.sub and r.env that there are, each with its root: `sub.role`.
    """
    parts = text.split(".")
    while parts and parts[0] in ("r", "request") and len(parts) > 2:
        parts = parts[1:]
    if len(parts) != 2 or not all(re.fullmatch(r"[A-Za-z]\w*", part, re.ASCII) for part in parts):
        return ""
    root, name = _ROOTS.get(parts[0].casefold(), ""), parts[1]
    if parts[0] == "r":
        known = [one for one in sorted(attributes) if one.endswith(f".{name}")]
        return f"r.{known[0]}" if known else f"r.obj.{name}"
    return f"r.{root}.{name}" if root else ""


def _tokens(text: str) -> Iterator[_Token]:
    line = 0
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "line":
            line += 1
        else:
            yield _Token(found.lastgroup or "", found.group(), line)


def _open_quote(tokens: list[_Token]) -> tuple[int, str] | None:
    lone = next((token for token in tokens if token.kind == "quote"), None)
    return (lone.line, "a text in quotes is not closed") if lone else None


def _neighbours(tokens: list[_Token]) -> tuple[int, str] | None:
    """Two operands without an operator between them, or an operator that lacks one."""
    before = _Token("open", "", 0)
    for token in tokens:
        called = token.kind == "open" and before.kind == "operand" and not before.text.startswith(("'", '"'))
        if before.kind in ("operand", "close") and token.kind in ("operand", "open", "negation") and not called:
            if token.line > before.line:
                return before.line, "`||` (or `&&`) is missing at the end of this line"
            return token.line, "`&&` or `||` is missing between two parts of this line"
        if before.kind in ("operator", "negation") and token.kind in ("operator", "close"):
            return before.line, f"nothing follows `{before.text}`"
        if before.kind == "open" and token.kind == "operator":
            return token.line, f"nothing precedes `{token.text}`"
        before = token
    return (before.line, f"nothing follows `{before.text}`") if before.kind in ("operator", "negation") else None


def _brackets(tokens: list[_Token]) -> tuple[int, str] | None:
    """The branch that opens more brackets than it closes, or the reverse, judged by where the next one begins."""
    depth, first, branch = 0, None, 0
    for token in tokens:
        if token.kind == "operand" and token.text == "p.when":
            if first is not None and depth != first:
                return branch, _unbalanced(depth - first)
            first, branch = depth, token.line
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
    return (tokens[-1].line, _unbalanced(depth)) if depth else None


def _unbalanced(left: int) -> str:
    return "a bracket `(` is not closed here" if left > 0 else "a bracket `)` too many is here"
