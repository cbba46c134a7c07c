"""The text of a matcher as Python's parser can read it, and where each part of it stands.

Operators are translated outside of texts in quotes alone; words and operators of other languages are refused, each at
its line. Nothing of the text is ever evaluated.
"""

from __future__ import annotations

import ast
import keyword
import re

from ..wording import expressions
from ..wording.characters import odd
from ..wording.finding import Finding

_TOKEN = re.compile(
    r"""(?P<string>'[^'\n]*'|"[^"\n]*")|(?P<and>&&)|(?P<or>\|\|)|(?P<not>!(?!=))|(?P<list>in\[)|(?P<word>[^\W\d]\w*)|"""
    r"""(?P<foreign>[!=]==|=[<>]|<>|&|\||(?<![=!<>])=(?!=))|[=!<>]=|.|\n""",
    re.VERBOSE,
)
_JOINED = re.compile(r"\w(?:&&|\|\|)|(?:&&|\|\|)[\w!]")


class Source:
    """One matcher, which begins on `line` of `file`; what is wrong with it is collected in `findings`."""

    def __init__(self, text: str, file: str, line: int) -> None:
        self.text, self.file, self.first_line = text, file, line
        self.findings: list[Finding] = []
        self.translated = f"({self._translated()}\n)"
        self._rows = self.translated.encode().split(b"\n")  # as `ast` counts columns

    def refuse(self, node: ast.AST, message: str) -> None:
        """A finding where a node begins."""
        self.refuse_at(self.line(node), message)

    def refuse_at(self, line: int, message: str) -> None:
        """A finding at a line of the file."""
        self.findings.append(Finding(self.file, line, message))

    def line(self, node: ast.AST) -> int:
        """The line of the file on which a node begins."""
        return self.first_line + int(getattr(node, "lineno", 1)) - 1

    def of(self, node: ast.expr) -> str:
        """Returns the source text of a node, on one line."""
        return " ".join(self.cut(node, node).split())

    def cut(self, first: ast.expr, last: ast.expr) -> str:
        """The text from the beginning of one node to the end of another."""
        return self._cut(first.lineno, first.col_offset, last.end_lineno or 1, last.end_col_offset or 0)

    def between(self, before: ast.expr, after: ast.expr) -> str:
        """The text from the end of one node to the beginning of the next."""
        return self._cut(before.end_lineno or 1, before.end_col_offset or 0, after.lineno, after.col_offset)

    def opening(self, node: ast.expr, inner: ast.expr) -> str:
        """The text from the beginning of a node to the beginning of one in it."""
        return self._cut(node.lineno, node.col_offset, inner.lineno, inner.col_offset)

    def has_brackets(self, node: ast.expr) -> bool:
        """True if a node has brackets of its own."""
        before = self._cut(1, 0, node.lineno, node.col_offset).rstrip()
        after = self._cut(node.end_lineno or 1, node.end_col_offset or 0, len(self._rows), len(self._rows[-1])).lstrip()
        # The outermost brackets are not those of the text.
        return before.endswith("(") and len(before) > 1 and after.startswith(")")

    def _translated(self) -> str:
        line = self.first_line
        translated = []
        for token in _TOKEN.finditer(self.text):
            piece, kind = token.group(), token.lastgroup
            if kind in ("and", "or"):
                # pycasbin puts words in the place of operators, and leaves out the blanks.
                if _JOINED.search(self.text, token.start() - 1, token.end() + 1):
                    self.refuse_at(line, f"put blanks around `{piece}`")
                piece = f" {kind} "
            elif kind == "not":
                piece = " not "
            elif kind == "word":
                self._refuse_word(line, piece, named=self.text[token.start() - 1:token.start()] == ".")
            elif kind == "foreign":
                self.refuse_at(line, f"`{piece}` is no operator of a matcher; write {expressions.OPERATORS[piece]}")
            elif piece == "\n":
                line += 1
            if wrong := odd(piece, marks=kind == "string") if piece != "\n" else "":
                self.refuse_at(line, wrong)
            translated.append(piece)
        return "".join(translated)

    def _refuse_word(self, line: int, piece: str, *, named: bool) -> None:
        """Refuse what other languages say; `named` if the word is the name of an attribute."""
        wrong = "" if named else expressions.word(piece)
        if wrong or keyword.iskeyword(piece):
            self.refuse_at(line, wrong or f"`{piece}` is no word of a matcher; use &&, || and !")

    def _cut(self, line: int, column: int, end_line: int, end_column: int) -> str:
        """The text between two positions; `ast.get_source_segment` would split the whole text on every call."""
        if line == end_line:
            return self._rows[line - 1][column:end_column].decode()
        first, last = self._rows[line - 1][column:], self._rows[end_line - 1][:end_column]
        return b"\n".join([first, *self._rows[line : end_line - 1], last]).decode()
