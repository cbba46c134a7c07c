"""A matcher of model.conf as an expression: only what Casbin and this parser read alike.

The text is translated to Python's operators outside string literals, parsed with `ast`, and every node that
is not on the list here is refused with its line. Nothing of the text is ever evaluated.
"""

from __future__ import annotations

import ast
import ipaddress
import keyword
import re
from dataclasses import dataclass, field

from ..wording import expressions
from ..wording.characters import odd
from ..wording.finding import Finding, quoted
from ..wording.suggestions import did_you_mean, hint
from .attributes import ENVIRONMENT, SUBJECT
from .expression import AllOf, AnyOf, Attribute, Comparison, Expression, FunctionCall, Negation, Operand, Shared

ROOTS = {"sub", "obj", "env"}
# Casbin's own functions that answer from their arguments alone, the same in each of its languages, with the
# number of arguments. keyMatch is not here: it ignores whatever follows the first `*`.
FUNCTIONS = {"g": 2, "globMatch": 2, "ipMatch": 2}
OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
LARGEST_NUMBER = 2**53 - 1  # beyond it, node-casbin takes different numbers for equal
NOT_READ = "this is not an expression"
NO_EXPRESSION = f"{NOT_READ}; look at the brackets, the quotes and the `||` between the branches"
OPERANDS = "known are r.sub.…, r.obj.…, r.env.…, p.…, texts in quotes and whole numbers"
ATTRIBUTES = frozenset((*(f"sub.{name}" for name in SUBJECT), *(f"env.{name}" for name in ENVIRONMENT)))

_TOKEN = re.compile(
    r"""(?P<string>'[^'\n]*'|"[^"\n]*")|(?P<and>&&)|(?P<or>\|\|)|(?P<not>!(?!=))|(?P<word>[^\W\d]\w*)|"""
    r"""(?P<foreign>[!=]==|=[<>]|<>|&|\||(?<![=!<>])=(?!=))|[=!<>]=|.|\n""",
    re.VERBOSE,
)
# Casbin replaces operators and `r.`, `p.` as text, inside literals too: a literal may hold none of them.
_LITERAL = re.compile(r"[\w ./:@+,*-]*", re.ASCII)
_REWRITTEN = re.compile(r"\b[rp]\d*\.")


class Refused(Exception):
    """A matcher that is not used, with the reasons."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__("; ".join(str(finding) for finding in findings))


@dataclass
class Places:
    """Where the parts of a matcher stand: the first line of each, and the parts of each `||`, each with its line."""

    lines: dict[Expression, int] = field(default_factory=dict)
    alternatives: list[list[tuple[Expression, int]]] = field(default_factory=list)


def parse(text: str, *, file: str, line: int, request: str = "r", rule: str = "p",
          fields: tuple[str, ...]) -> tuple[Expression, Places]:
    """Read a matcher that begins on `line` of `file`; line breaks in `text` are those of the file.

    `request` and `rule` are the names of the request and of the policy line (`r`, `p` or `r2`, `p2`),
    `fields` the columns of the policy line. Raises Refused.
    """
    reader = _Reader(text, file, line, request, rule, fields)
    return reader.read(), reader.places


class _Reader:
    def __init__(self, text: str, file: str, line: int, request: str, rule: str, fields: tuple[str, ...]) -> None:
        self.file, self.line = file, line
        self.request, self.rule, self.fields = request, rule, fields
        self.findings: list[Finding] = []
        self.places = Places()
        self._source_text = text
        self._text = f"({self._translated(text)}\n)"
        self._rows = self._text.split("\n")

    def read(self) -> Expression:
        if self.findings:
            raise Refused(self.findings)
        try:
            body = ast.parse(self._text, mode="eval").body
            expression = self._expression(body)
        except SyntaxError as error:
            offset, wrong = expressions.diagnosis(self._source_text) or (max((error.lineno or 1) - 1, 0), "")
            message = f"{NOT_READ}: {wrong}" if wrong else NO_EXPRESSION
            raise Refused([Finding(self.file, self.line + offset, message)]) from None
        except (ValueError, RecursionError, MemoryError):
            raise Refused([Finding(self.file, self.line, "this expression is too deep to read")]) from None
        if self.findings:
            raise Refused(self.findings)
        return expression

    def _translated(self, text: str) -> str:
        line = self.line
        translated = []
        for token in _TOKEN.finditer(text):
            piece, kind = token.group(), token.lastgroup
            if kind == "and":
                piece = " and "
            elif kind == "or":
                piece = " or "
            elif kind == "not":
                piece = " not "
            elif kind == "word":
                self._refuse_word(line, piece, named=text[token.start() - 1:token.start()] == ".")
            elif kind == "foreign":
                self._refuse_at(line, f"`{piece}` is no operator of a matcher; write {expressions.OPERATORS[piece]}")
            elif piece == "\n":
                line += 1
            if wrong := odd(piece) if piece != "\n" else "":
                self._refuse_at(line, wrong)
            translated.append(piece)
        return "".join(translated)

    def _refuse_word(self, line: int, piece: str, *, named: bool) -> None:
        """Refuse what other languages say; `named` if the word is the name of an attribute."""
        wrong = "" if named else expressions.word(piece)
        if wrong or keyword.iskeyword(piece):
            self._refuse_at(line, wrong or f"`{piece}` is no word of a matcher; use &&, || and !")

    def _refuse_at(self, line: int, message: str) -> None:
        self.findings.append(Finding(self.file, line, message))

    def _refuse(self, node: ast.AST, message: str) -> bool:
        self._refuse_at(self._line(node), message)
        return False

    def _line(self, node: ast.AST) -> int:
        return self.line + int(getattr(node, "lineno", 1)) - 1

    def _placed(self, node: ast.AST, expression: Expression) -> Expression:
        self.places.lines.setdefault(expression, self._line(node))
        return expression

    def _source(self, node: ast.expr) -> str:
        end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return " ".join(self._cut(node.lineno, node.col_offset, *end).split())

    def _expression(self, node: ast.expr) -> Expression:
        match node:
            case ast.BoolOp(op=ast.And()):
                return AllOf(tuple(self._expression(value) for value in node.values))
            case ast.BoolOp(op=ast.Or()):
                parts = [(self._expression(value), self._line(value)) for value in node.values]
                self.places.alternatives.append(parts)
                return AnyOf(tuple(part for part, _ in parts))
            case ast.UnaryOp(op=ast.Not()):
                return self._placed(node, self._negation(node))
            case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in OPERATORS:
                return self._placed(node, self._comparison(OPERATORS[type(operator)], node.left, right))
            case ast.Compare():
                return self._refuse(node, f"{quoted(self._source(node))}: write one comparison at a time, joined by &&")
            case ast.Call():
                return self._placed(node, self._call(node))
            case ast.Attribute() | ast.Name() | ast.Constant():
                return self._refuse(node, f"{quoted(self._source(node))} alone is no condition; write a comparison")
            case _:
                return self._refuse(node, f"{quoted(self._source(node))} cannot be used in a matcher")

    def _negation(self, node: ast.UnaryOp) -> Expression:
        operand = node.operand
        # Casbin's languages disagree about how tightly `!` binds, unless brackets or a call say it.
        between = self._cut(node.lineno, node.col_offset, operand.lineno, operand.col_offset)
        if not isinstance(operand, ast.Call | ast.UnaryOp) and "(" not in between:
            return self._refuse(node, "put brackets around what `!` negates: !(…)")
        return Negation(self._expression(operand))

    def _cut(self, line: int, column: int, end_line: int, end_column: int) -> str:
        """The text between two positions; `ast.get_source_segment` would split the whole text on every call."""
        if line == end_line:
            return self._rows[line - 1][column:end_column]
        first, last = self._rows[line - 1][column:], self._rows[end_line - 1][:end_column]
        return "\n".join([first, *self._rows[line : end_line - 1], last])

    def _comparison(self, operator: str, left: ast.expr, right: ast.expr) -> Expression:
        first, second = self._operand(left), self._operand(right)
        if first is None or second is None:
            return False
        if not isinstance(first, Attribute):
            if not isinstance(second, Attribute):
                return self._refuse(left, f"`{first}` and `{second}` are both fixed; compare an attribute")
            first, second, operator = second, first, MIRRORED[operator]
        return Comparison(operator, first, second)

    def _call(self, node: ast.Call) -> Expression:
        name = node.func.id if isinstance(node.func, ast.Name) else self._source(node.func)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            return self._refuse(node, f"{name}: give plain arguments")
        if name == "shared":
            if [self._source(argument) for argument in node.args] != ["r.sub", "r.obj", "r.act"]:
                return self._refuse(node, "write shared(r.sub, r.obj, r.act)")
            return Shared()
        if name not in FUNCTIONS:
            near = "; keyMatch ignores what follows the first *, use globMatch" if name.startswith("keyMatch") \
                else hint(name, [*FUNCTIONS, "shared"])
            return self._refuse(node, f"{quoted(name)} is no function of a matcher{near}")
        if len(node.args) != FUNCTIONS[name]:
            return self._refuse(node, f"{name} takes {FUNCTIONS[name]} arguments, not {len(node.args)}")
        arguments = [self._operand(argument) for argument in node.args]
        if any(argument is None for argument in arguments):
            return False
        call = FunctionCall(name, tuple(argument for argument in arguments if argument is not None))
        return self._checked(node, call)

    def _checked(self, node: ast.Call, call: FunctionCall) -> Expression:
        first, second = call.arguments
        if call.function == "g":
            if first not in (Attribute("sub", "role"), Attribute("sub", "key")):
                return self._refuse(node, "g asks about r.sub.role or r.sub.key")
            if not (isinstance(second, str) or second == Attribute("rule", "sub")):
                return self._refuse(node, "g ends in p.sub or a role in quotes")
        if call.function == "ipMatch":
            if first != Attribute("env", "ip") or not isinstance(second, str):
                return self._refuse(node, "write ipMatch(r.env.ip, '10.0.0.0/8')")
            try:
                ipaddress.ip_network(second, strict=False)
            except ValueError:
                return self._refuse(node, f"{second!r} is no network address; write one like '10.0.0.0/8'")
        if call.function == "globMatch" and call.arguments != (
            Attribute("act", ""),
            Attribute("rule", "act"),
        ):
            return self._refuse(node, f"write globMatch({self.request}.act, {self.rule}.act)")
        return call

    def _operand(self, node: ast.expr) -> Operand | None:
        match node:
            case ast.Constant(value=str() as value):
                if wrong := self._wrong_text(node, value):
                    self._refuse(node, f"{value!r}: {wrong}")
                    return None
                return value
            case ast.Constant(value=int() as value) if self._source(node) == str(value) and value <= LARGEST_NUMBER:
                return value
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id=start), attr=root), attr=name) if (
                start == self.request == "r" and root in ROOTS and not name.startswith("_")
            ):
                return Attribute(root, name)
            case ast.Attribute(value=ast.Name(id=start), attr=name):
                if start == self.rule and name in self.fields:
                    return Attribute("rule", name)
                if start == self.request and (name == "act" or (name == "scope" and start == "r2")):
                    return Attribute(name, "")
        source = self._source(node)
        self._refuse(node, f"{quoted(source)} cannot be used here; {self._instead(node, source)}")
        return None

    def _wrong_text(self, node: ast.expr, value: str) -> str:
        if " in " in value:
            return "the Casbin editor would read ` in ` as an operator; write in_ or another word"
        same = self._source(node)[1:-1] == " ".join(value.split())
        if same and _LITERAL.fullmatch(value) and not _REWRITTEN.search(value):
            return ""
        return "Casbin would read these characters as an operator"

    def _instead(self, node: ast.expr, source: str) -> str:
        """What to write for an operand that is none."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return f"write a whole number up to {LARGEST_NUMBER}, in decimal digits"
        if isinstance(node, ast.Name):
            return f"write a text in quotes; {OPERANDS}"
        start, _, name = source.partition(".")
        if start == self.rule and (near := did_you_mean(name, self.fields)):
            return near.replace("did you mean ", f"did you mean {self.rule}.").removeprefix("; ")
        meant = expressions.operand(source, ATTRIBUTES) if self.request == "r" else ""
        return f"did you mean {meant}?" if meant else OPERANDS
