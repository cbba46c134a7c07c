"""A matcher of model.conf as an expression: only what Casbin and this parser read alike.

The text is parsed with `ast`, and every node that is not on the list here is refused with its line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..wording import expressions
from ..wording.finding import Finding, quoted
from ..wording.suggestions import did_you_mean, hint
from .addresses import network
from .conditions import PREFIX, WHEN
from .durations import seconds_of, wrong_duration
from .expression import (
    AGES,
    GROUPS,
    MIRRORED,
    ROOTS,
    Ago,
    AllOf,
    AnyOf,
    Attribute,
    Comparison,
    Expression,
    FunctionCall,
    InGroup,
    Negation,
    PluginCall,
    Prefixed,
    Shared,
    disjunction,
)
from .operands import Operands
from .source import Source
from .vocabulary import Function

# Casbin's own functions that answer from their arguments alone, the same in each of its languages, with the
# number of arguments. keyMatch is not here: it ignores whatever follows the first `*`.
FUNCTIONS = {"g": 2, "globMatch": 2, "ipMatch": 2}
OURS = ("shared", "inGroup", *AGES.values())  # functions of Gatepost
OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}
NOT_READ = "this is not an expression"
NO_EXPRESSION = f"{NOT_READ}; look at the brackets, the quotes and the `||` between the branches"
# Any other spelling of a list is read otherwise by one of the Casbins: `in (` breaks the editor's, and without brackets
# of its own a list takes what stands beside it for its left side.
LIST = "a list is written (r.obj.status in['a', 'b']), in brackets of its own and with no blank behind `in`"
GROUP = ("write inGroup(r.sub, 'name'), or inGroup(r.sub, r.obj.…) with a column that names the group, or "
         "inGroup(r.sub, 'admin-', r.obj.…) with a text before it")
PREFIX_APART = ("write inGroup(r.sub, 'admin-', r.obj.department), with a comma: with `+`, some Casbins make the group "
                "admin-undefined of a missing value")
AGE = "write {0}(r.obj.…, 'P90D'), with a column that holds a time"
PARAMETER = "a parameter is taken by p.when == 'word:' + r.obj.…, in small letters and with the colon"

_CALLER, _REQUEST = "r.sub", ["r.sub", "r.obj", "r.env"]


class Refused(Exception):
    """A matcher that is not used, with the reasons."""

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = findings
        super().__init__("; ".join(str(finding) for finding in findings))


@dataclass
class Places:
    """Positions in a matcher: the first line of each part, and the operands of each `||`, each with its line."""

    lines: dict[Expression, int] = field(default_factory=dict)
    alternatives: list[list[tuple[Expression, int]]] = field(default_factory=list)


def parse(text: str, *, file: str, line: int, request: str = "r", rule: str = "p", fields: tuple[str, ...],
          functions: Iterable[Function] = ()) -> tuple[Expression, Places]:
    """Read a matcher that begins on `line` of `file`; line breaks in `text` are those of the file.

    `request` and `rule` are the names of the request and of the policy line (`r`, `p` or `r2`, `p2`), `fields` the
    columns of the policy line, `functions` those of plugins. Raises Refused.
    """
    reader = _Reader(Source(text, file, line), request, rule, fields, {one.name: one for one in functions})
    return reader.read(), reader.places


class _Reader:
    def __init__(self, source: Source, request: str, rule: str, fields: tuple[str, ...],
                 functions: Mapping[str, Function]) -> None:
        self.source, self.places, self.functions = source, Places(), functions
        self.request, self.rule = request, rule
        self._operands = Operands(source, request, rule, fields)

    def read(self) -> Expression:
        source = self.source
        if source.findings:
            raise Refused(source.findings)
        try:
            body = ast.parse(source.translated, mode="eval").body
            expression = self._expression(body)
        except SyntaxError as error:
            offset, wrong = expressions.diagnosis(source.text) or (max((error.lineno or 1) - 1, 0), "")
            source.refuse_at(source.first_line + offset, f"{NOT_READ}: {wrong}" if wrong else NO_EXPRESSION)
        except (ValueError, RecursionError, MemoryError):
            source.refuse_at(source.first_line, "this expression is too deep to read")
        if source.findings:
            raise Refused(source.findings)
        return expression

    def _refuse(self, node: ast.AST, message: str) -> bool:
        self.source.refuse(node, message)
        return False

    def _placed(self, node: ast.AST, expression: Expression) -> Expression:
        self.places.lines.setdefault(expression, self.source.line(node))
        return expression

    def _expression(self, node: ast.expr) -> Expression:
        match node:
            case ast.BoolOp(op=ast.And()):
                return AllOf(tuple(self._expression(value) for value in node.values))
            case ast.BoolOp(op=ast.Or()):
                parts = [(self._expression(value), self.source.line(value)) for value in node.values]
                self.places.alternatives.append(parts)
                return AnyOf(tuple(part for part, _ in parts))
            case ast.UnaryOp(op=ast.Not()):
                return self._placed(node, self._negation(node))
            case ast.Compare(ops=[ast.In()], comparators=[right]):
                return self._membership(node, node.left, right)
            case ast.Compare(ops=[operator], comparators=[right]) if type(operator) in OPERATORS:
                return self._placed(node, self._comparison(node, OPERATORS[type(operator)], right))
            case ast.Compare():
                one_each = f"{quoted(self.source.of(node))}: write one comparison at a time, joined by &&"
                return self._refuse(node, one_each)
            case ast.Call():
                return self._placed(node, self._call(node))
            case ast.Attribute() | ast.Name() | ast.Constant():
                return self._refuse(node, f"{quoted(self.source.of(node))} alone is no condition; write a comparison"
                                          ", such as r.obj.active == 1")
            case _:
                return self._refuse(node, f"{quoted(self.source.of(node))} cannot be used in a matcher")

    def _negation(self, node: ast.UnaryOp) -> Expression:
        operand = node.operand
        # Casbin's languages disagree about how tightly `!` binds, unless brackets or a call say it.
        if not isinstance(operand, ast.Call | ast.UnaryOp) and "(" not in self.source.opening(node, operand):
            return self._refuse(node, "put brackets around what `!` negates: !(…)")
        return Negation(self._expression(operand))

    def _membership(self, node: ast.Compare, left: ast.expr, right: ast.expr) -> Expression:
        """A list of literals: any of the comparisons with each of them."""
        values = right.elts if isinstance(right, ast.List) else []
        if not values or not self.source.has_brackets(node) or self.source.between(left, right).split() != ["in"]:
            return self._refuse(node, LIST)
        attribute, literals = self._operands.read(left), [self._operands.read(value) for value in values]
        if attribute is None or None in literals:
            return False
        if GROUPS in literals:
            return self._refuse(right, GROUP)
        if not isinstance(attribute, Attribute) or attribute.root not in ROOTS:
            return self._refuse(left, f"{LIST}; the left side is an attribute of r.sub, r.obj or r.env")
        if not all(isinstance(literal, str | int) for literal in literals):
            return self._refuse(right, f"{LIST}; it holds texts in quotes or whole numbers")
        return disjunction(self._placed(node, Comparison("==", attribute, literal)) for literal in literals
                           if literal is not None)

    def _comparison(self, node: ast.Compare, operator: str, right: ast.expr) -> Expression:
        left = node.left
        match right:
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Add()):
                return self._parameter(operator, left, right)
        first, second = self._operands.read(left), self._operands.read(right)
        if first is None or second is None:
            return False
        if not isinstance(first, Attribute):
            if not isinstance(second, Attribute):
                return self._refuse(left, f"`{first}` and `{second}` are both fixed; compare an attribute")
            first, second, operator = second, first, MIRRORED[operator]
        if first.root not in ROOTS and isinstance(second, str) and not second.isascii():
            return self._refuse(node, f"{second!r}: write plain ASCII letters; rules have no others")
        return Comparison(operator, first, second)

    def _parameter(self, operator: str, left: ast.expr, right: ast.BinOp) -> Expression:
        """`p.when == 'language:' + r.obj.language`."""
        prefix, attribute = self._operands.read(right.left), self._operands.read(right.right)
        if prefix is None or attribute is None:
            return False
        if operator != "==" or self._operands.read(left) != WHEN or not isinstance(prefix, str) or \
                not PREFIX.fullmatch(prefix) or not isinstance(attribute, Attribute) or attribute.root not in ROOTS:
            return self._refuse(right, PARAMETER)
        return Comparison("==", WHEN, Prefixed(prefix, attribute))

    def _call(self, node: ast.Call) -> Expression:
        name = node.func.id if isinstance(node.func, ast.Name) else self.source.of(node.func)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            return self._refuse(node, f"{name}: give plain arguments")
        if self.source.of(node).removesuffix(")").rstrip().endswith(","):
            return self._refuse(node, f"{name}: take out the comma before the closing bracket")
        given = [self.source.of(argument) for argument in node.args]
        if name == "shared":
            return Shared() if given == ["r.sub", "r.obj", "r.act"] else self._refuse(
                node, "write shared(r.sub, r.obj, r.act)")
        if name == "inGroup":
            return self._in_group(node, given)
        if name in AGES.values():
            return self._age(node, name)
        if name in self.functions:
            return self._of_plugin(node, self.functions[name], given)
        if name not in FUNCTIONS and given[:3] == _REQUEST and not did_you_mean(name, self.functions):
            return self._refuse(node, f"{quoted(name)} is a function of no installed plugin")
        if name not in FUNCTIONS:
            near = "; keyMatch ignores what follows the first *, use globMatch" if name.startswith("keyMatch") \
                else hint(name, [*FUNCTIONS, *OURS, *self.functions])
            return self._refuse(node, f"{quoted(name)} is no function of a matcher{near}")
        if len(node.args) != FUNCTIONS[name]:
            return self._refuse(node, f"{name} takes {FUNCTIONS[name]} arguments, not {len(node.args)}")
        arguments = [self._operands.read(argument) for argument in node.args]
        if any(argument is None for argument in arguments):
            return False
        call = FunctionCall(name, tuple(argument for argument in arguments if argument is not None))
        return self._checked(node, call)

    def _in_group(self, node: ast.Call, given: list[str]) -> Expression:
        if len(given) == 3 and given[0] == _CALLER:
            return self._in_prefixed_group(node)
        if len(given) == 2 and isinstance(node.args[1], ast.BinOp):
            return self._refuse(node, PREFIX_APART)
        group = self._operands.read(node.args[1]) if len(given) == 2 and given[0] == _CALLER else 0
        if group is None:
            return False
        if isinstance(group, str) or (isinstance(group, Attribute) and group.root in ROOTS and group != GROUPS):
            return InGroup(group)
        return self._refuse(node, GROUP)

    def _in_prefixed_group(self, node: ast.Call) -> Expression:
        prefix, column = (self._operands.read(argument) for argument in node.args[1:])
        if prefix is None or column is None:
            return False
        if isinstance(prefix, str) and prefix and isinstance(column, Attribute) and column.root == "obj":
            return InGroup(Prefixed(prefix, column))
        return self._refuse(node, GROUP)

    def _age(self, node: ast.Call, name: str) -> Expression:
        values = [self._operands.read(argument) for argument in node.args]
        if None in values:
            return False
        match values:
            case [Attribute("obj") as time, str(duration)]:
                if wrong := wrong_duration(duration):
                    return self._refuse(node, wrong)
                operator = next(operator for operator, function in AGES.items() if function == name)
                return Comparison(operator, time, Ago(seconds_of(duration) or 0, duration))
        return self._refuse(node, AGE.format(name))

    def _of_plugin(self, node: ast.Call, function: Function, given: list[str]) -> Expression:
        literals = [self._operands.read(argument) for argument in node.args[3:]]
        if None in literals:
            return False
        if given[:3] != _REQUEST or [type(literal) for literal in literals] != [*function.literals]:
            values = ("'…'" if kind is str else "0" for kind in function.literals)
            return self._refuse(node, f"write {function.name}({', '.join((*_REQUEST, *values))})")
        return PluginCall(function, tuple(literal for literal in literals if isinstance(literal, str | int)))

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
                network(second)
            except ValueError:
                return self._refuse(node, f"{second!r} is no network address; write one like '10.0.0.0/8'")
        if call.function == "globMatch" and call.arguments != (
            Attribute("act", ""),
            Attribute("rule", "act"),
        ):
            return self._refuse(node, f"write globMatch({self.request}.act, {self.rule}.act)")
        return call
