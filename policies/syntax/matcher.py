"""A matcher of model.conf as an expression: only what Casbin and this parser read alike.

The text is translated to Python's operators outside string literals, parsed with `ast`, and every node that
is not on the list here is refused with its line. Nothing of the text is ever evaluated.
"""

from __future__ import annotations

import ast
import ipaddress
import keyword
import re

from .expression import AllOf, AnyOf, Attribute, Comparison, Expression, FunctionCall, Negation, Operand, Shared
from .finding import Finding

ROOTS = {"sub", "obj", "env"}
# Casbin's own functions that answer from their arguments alone, the same in each of its languages, with the
# number of arguments. keyMatch is not here: it ignores whatever follows the first `*`.
FUNCTIONS = {"g": 2, "globMatch": 2, "ipMatch": 2}
OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}
MIRRORED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
LARGEST_NUMBER = 2**63 - 1
NO_EXPRESSION = "this is not an expression; look at the brackets, the quotes and the `||` between the branches"
OPERANDS = "known are r.sub.…, r.obj.…, r.env.…, p.…, texts in quotes and whole numbers"

_TOKEN = re.compile(
    r"""(?P<string>'[^'\n]*'|"[^"\n]*")|(?P<and>&&)|(?P<or>\|\|)|(?P<not>!(?!=))|(?P<word>[^\W\d]\w*)|."""
    r"""|\n""",
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


def parse(text: str, *, file: str, line: int, request: str = "r", rule: str = "p",
          fields: tuple[str, ...]) -> Expression:
    """Read a matcher that begins on `line` of `file`; line breaks in `text` are those of the file.

    `request` and `rule` are the names of the request and of the policy line (`r`, `p` or `r2`, `p2`),
    `fields` the columns of the policy line. Raises Refused.
    """
    return _Reader(text, file, line, request, rule, fields).read()


class _Reader:
    def __init__(self, text: str, file: str, line: int, request: str, rule: str, fields: tuple[str, ...]) -> None:
        self.file, self.line = file, line
        self.request, self.rule, self.fields = request, rule, fields
        self.findings: list[Finding] = []
        self._text = f"({self._translated(text)}\n)"
        self._rows = self._text.split("\n")

    def read(self) -> Expression:
        if self.findings:
            raise Refused(self.findings)
        try:
            body = ast.parse(self._text, mode="eval").body
            expression = self._expression(body)
        except SyntaxError as error:
            line = self.line + max((error.lineno or 1) - 1, 0)
            raise Refused([Finding(self.file, line, NO_EXPRESSION)]) from None
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
            elif kind == "word" and keyword.iskeyword(piece):
                self._refuse_at(line, f"`{piece}` is no word of a matcher; use &&, || and !")
            elif piece == "\n":
                line += 1
            if not piece.isascii():
                self._refuse_at(line, f"{piece!r} cannot stand in a matcher")
            translated.append(piece)
        return "".join(translated)

    def _refuse_at(self, line: int, message: str) -> None:
        self.findings.append(Finding(self.file, line, message))

    def _refuse(self, node: ast.AST, message: str) -> bool:
        self._refuse_at(self.line + getattr(node, "lineno", 1) - 1, message)
        return False

    def _source(self, node: ast.expr) -> str:
        end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return " ".join(self._cut(node.lineno, node.col_offset, *end).split())

    def _expression(self, node: ast.expr) -> Expression:
        match node:
            case ast.BoolOp(op=ast.And()):
                return AllOf(tuple(self._expression(value) for value in node.values))
            case ast.BoolOp(op=ast.Or()):
                return AnyOf(tuple(self._expression(value) for value in node.values))
            case ast.UnaryOp(op=ast.Not()):
                return self._negation(node)
            case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in OPERATORS:
                return self._comparison(OPERATORS[type(operator)], node.left, right)
            case ast.Compare():
                return self._refuse(node, f"`{self._source(node)}`: write one comparison at a time, joined by &&")
            case ast.Call():
                return self._call(node)
            case ast.Name(id="true" | "false"):
                return self._refuse(node, f"bare `{node.id}` reads differently in each Casbin; write a comparison")
            case ast.Attribute() | ast.Name() | ast.Constant():
                return self._refuse(node, f"`{self._source(node)}` alone is no condition; write a comparison")
            case _:
                return self._refuse(node, f"`{self._source(node)}` cannot be used in a matcher")

    def _negation(self, node: ast.UnaryOp) -> Expression:
        operand = node.operand
        # Casbin's languages disagree about how tightly `!` binds, unless brackets or a call say it.
        between = self._cut(node.lineno, node.col_offset, operand.lineno, operand.col_offset)
        if not isinstance(operand, ast.Call | ast.UnaryOp) and "(" not in between:
            return self._refuse(node, "put brackets around what `!` negates")
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
            known = ", ".join([*FUNCTIONS, "shared"])
            hint = "; keyMatch ignores what follows the first *, use globMatch" if name == "keyMatch" else ""
            return self._refuse(node, f"`{name}` is no function of a matcher; known are {known}{hint}")
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
                return self._refuse(node, f"{second!r} is no network address")
        if call.function == "globMatch" and call.arguments != (
            Attribute("act", ""),
            Attribute("rule", "act"),
        ):
            return self._refuse(node, f"write globMatch({self.request}.act, {self.rule}.act)")
        return call

    def _operand(self, node: ast.expr) -> Operand | None:
        match node:
            case ast.Constant(value=str() as value):
                if self._source(node)[1:-1] != " ".join(value.split()) or not _LITERAL.fullmatch(value) \
                        or _REWRITTEN.search(value):
                    self._refuse(node, f"{value!r}: Casbin would read these characters as an operator")
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
            case ast.Name(id="true" | "false"):
                self._refuse(node, f"bare `{node.id}` reads differently in each Casbin; leave it out")
                return None
        self._refuse(node, f"`{self._source(node)}` cannot be used here; {OPERANDS}")
        return None
