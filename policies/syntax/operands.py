"""Operands of a matcher and arguments of its calls: attributes, texts and whole numbers."""

from __future__ import annotations

import ast
import re

from ..wording import expressions
from ..wording.characters import odd
from ..wording.finding import quoted
from ..wording.suggestions import did_you_mean
from .attributes import ENVIRONMENT, SUBJECT
from .expression import ROOTS, Attribute, Operand
from .source import Source

LARGEST_NUMBER = 2**53 - 1  # beyond it, node-casbin takes different numbers for equal
OPERANDS = "known are r.sub.…, r.obj.…, r.env.…, p.…, texts in quotes and whole numbers"
ATTRIBUTES = frozenset((*(f"sub.{name}" for name in SUBJECT), *(f"env.{name}" for name in ENVIRONMENT)))

TEXTS = "a text in quotes has letters of the Latin alphabet, digits, blanks inside, and . / : @ + , * _ -"
# Casbin replaces operators and `r.`, `p.` as text, inside literals too: a literal may hold none of them. A letter with
# a mark is part of a word in Python alone.
_LITERAL = re.compile(r"[\w ./:@+,*-]*")
_TWO_TEXTS = re.compile(r"""['"]\s*['"]""")  # Python makes one of `'a' 'b'`
_REWRITTEN = re.compile(r"\b[rp]\d*\.", re.ASCII)


def wrong_text(value: str) -> str:
    """Returns what is wrong with the value of a text in quotes; empty when every Casbin reads it the same way."""
    if wrong := odd(value, marks=True):
        return wrong
    if " in " in value:
        return "the Casbin editor would read ` in ` as an operator; write in_ or another word"
    if value == value.strip() and _LITERAL.fullmatch(value) and not _REWRITTEN.search(value):
        return ""
    return f"Casbin would read these characters as an operator; {TEXTS}"


class Operands:
    """Reads the operands of one matcher, and refuses, with what to write, whatever else stands for one."""

    def __init__(self, source: Source, request: str, rule: str, fields: tuple[str, ...]) -> None:
        """`request` and `rule` are the names of the request and of the policy line (`r`, `p` or `r2`, `p2`), `fields`
        the columns of the policy line."""
        self._source, self._request, self._rule, self._fields = source, request, rule, fields

    def read(self, node: ast.expr) -> Operand | None:
        """The operand that a node is; None, and a finding, where it is none."""
        match node:
            case ast.Constant(value=str() as value):
                if wrong := self._wrong_text(node, value):
                    self._source.refuse(node, f"{value!r}: {wrong}")
                    return None
                return value
            case ast.Constant(value=int() as value) if self._source.of(node) == str(value) and value <= LARGEST_NUMBER:
                return value
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if (
                self._source.of(node) == f"-{value}" and 0 < value <= LARGEST_NUMBER
            ):
                return -value
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=start), attr=root), attr=name) if (
                start == self._request == "r" and root in ROOTS and not name.startswith("_")
                and self._source.of(node) == f"r.{root}.{name}"  # with a blank inside, Casbin knows no such name
            ):
                return Attribute(root, name)
            case ast.Attribute(value=ast.Name(id=start), attr=name) if self._source.of(node) == f"{start}.{name}":
                if start == self._rule and name in self._fields:
                    return Attribute("rule", name)
                if start == self._request and (name == "act" or (name == "scope" and start == "r2")):
                    return Attribute(name, "")
        written = self._source.of(node)
        self._source.refuse(node, f"{quoted(written)} cannot be used here; {self._instead(node, written)}")
        return None

    def _wrong_text(self, node: ast.expr, value: str) -> str:
        """Returns what is wrong with a text in quotes, as it is written."""
        written = self._source.of(node)
        if _TWO_TEXTS.search(written[1:-1]):
            return "an operator or a comma is missing between two texts"
        if written[1:-1] != " ".join(value.split()):
            return "write it without backslashes, and without blanks at its ends"
        return wrong_text(value)

    def _instead(self, node: ast.expr, written: str) -> str:
        """Suggests a replacement for an invalid operand."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return f"write a whole number up to {LARGEST_NUMBER}, in decimal digits"
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)) if value <= LARGEST_NUMBER:
                return f"write {-value}"
            case ast.BinOp(op=ast.Add() | ast.Sub()) if expressions.adds_to_time(written):
                return expressions.AGE
        if isinstance(node, ast.Name):
            return f"write a text in quotes; {OPERANDS}"
        if isinstance(node, ast.Attribute) and " " in written:
            return f"write {written.replace(' ', '')}, without a blank"
        written = written.removesuffix("()")
        if f"env.{written}" in ATTRIBUTES:
            return f"did you mean {self._request}.env.{written}?"
        start, _, name = written.partition(".")
        if start == self._rule and (near := did_you_mean(name, self._fields)):
            return near.replace("did you mean ", f"did you mean {self._rule}.").removeprefix("; ")
        meant = expressions.operand(written, ATTRIBUTES) if self._request == "r" else ""
        return f"did you mean {meant}?" if meant else OPERANDS
