"""Why: the line that decided, the facts that it looked at, and for a refusal what came nearest.

An `Explanation` is plain data with two faces: `as_text` for an administrator, `as_json` for programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import peewee as pw

from . import facts
from .closures import SharedWith
from .grants import Grants, ordered
from .plan import ALWAYS, NEVER, Plan
from .policy import nobody
from .principal import Principal
from .rules import Rule
from .sql import where
from .trace import RuleTrace

if TYPE_CHECKING:
    from .policy import Policy

ALLOWED, REFUSED, DEPENDS = "allowed", "refused", "depends"
# Verbs that are asked for with GET.
READS = ("view", "export")
MOST_MISSES = 5
_SHARES = "id IN (SELECT object_id FROM shares …)"
_MARK = {True: "✓", False: "✗", None: "?"}


@dataclass(frozen=True, slots=True)
class Remark:
    """A fact in words. `holds` is None when it depends on an object that was not named."""

    text: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Step:
    """A line that reaches the caller, by which roles it does, and the facts that it looks at."""

    rule: Rule
    via: tuple[str, ...]
    facts: tuple[Remark, ...]
    holds: bool
    missing: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        rule = self.rule
        return f"p, {rule.sub}, {rule.act}, {rule.when}, {rule.eft}"

    @property
    def reason(self) -> str:
        """"articles.csv:14 needs own; owner_id is 7, the caller's id is 9"."""
        return f"{self.rule.place} needs {self.rule.when}; {'; '.join(self.missing)}"

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.rule.file,
            "line": self.rule.line,
            "rule": self.line,
            "roles": list(self.via),
            "facts": [{"text": fact.text, "holds": fact.holds} for fact in self.facts],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to one question, and its reasons.

    verdict     allowed, refused, or depends: on an object that was not named
    decided_by  the line that allowed or denied; None when no line did
    misses      lines that would allow but for a fact, the nearest first
    would       condition → roles: who has the permission in a way that the caller has not
    sql         what a list of these objects would be filtered by; None: no row at all
    """

    who: str
    principal: Principal
    permission: str
    object: str | None
    verdict: str
    roles: tuple[str, ...]
    decided_by: Step | None
    misses: tuple[Step, ...]
    would: Mapping[str, tuple[str, ...]]
    scopes_cover: bool
    covering_scopes: tuple[str, ...]
    sql: str | None
    policy_version: str

    @property
    def summary(self) -> str:
        """One sentence."""
        on = f" on {self.object}" if self.object else ""
        start = f"{self.who} ({self.principal.role})"
        if self.verdict == DEPENDS:
            return f"{start} may {self.permission}, depending on the object"
        verdict = "may" if self.verdict == ALLOWED else "may not"
        return f"{start} {verdict} {self.permission}{on}: {self._because}"

    @property
    def _because(self) -> str:
        if not self.scopes_cover:
            return "the token's scopes do not cover it"
        if self.decided_by is not None:
            step = self.decided_by
            inherited = f", inherited by {' → '.join(step.via)}" if len(step.via) > 1 else ""
            word = "denies it" if step.rule.eft == "deny" else "allows it"
            return f"{step.rule.place} {word} ({step.rule.when}){inherited}"
        if self.misses:
            return self.misses[0].reason
        return f"no line gives {self.permission} to {' or '.join(self.roles)}"

    def as_text(self) -> str:
        """Several lines, for a terminal."""
        return "\n".join([self.summary, *(f"  {head:<9} {line}" for head, line in self._details())])

    def _details(self) -> Iterator[tuple[str, str]]:
        role, *inherited = self.roles
        yield "role", f"{role}, which inherits {', '.join(inherited)}" if inherited else role
        if self.principal.scopes is not None:
            yield "scopes", ", ".join(sorted(self.principal.scopes)) or "none"
            if not self.scopes_cover:
                yield "needed", " or ".join(self.covering_scopes) or "no scope covers this"
        if self.decided_by is not None:
            yield from _listed("decided", self.decided_by)
        for step in self.misses:
            yield from _listed("line" if self.verdict == DEPENDS else "not met", step)
        if self.verdict != ALLOWED and self.would:
            yield "others", "; ".join(f"{', '.join(roles)} may ({words})" for words, roles in self.would.items())
        yield "in SQL", self.sql if self.sql is not None else "no row"
        yield "policy", self.policy_version

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "as": self.who,
            "role": self.principal.role,
            "kind": self.principal.kind,
            "roles": list(self.roles),
            "permission": self.permission,
            "object": self.object,
            "verdict": self.verdict,
            "summary": self.summary,
            "decided_by": self.decided_by.as_json() if self.decided_by else None,
            "nearest_misses": [step.as_json() for step in self.misses],
            "granted_to": {words: list(roles) for words, roles in self.would.items()},
            "scopes": None if self.principal.scopes is None else sorted(self.principal.scopes),
            "scopes_cover": self.scopes_cover,
            "needed_scopes": list(self.covering_scopes) if not self.scopes_cover else [],
            "sql": self.sql,
            "policy_version": self.policy_version,
        }


def explain(
    policy: Policy,
    principal: Principal,
    permission: str,
    obj: Mapping[str, Any] | None,
    env: Any,
    shared: SharedWith = nobody,
    *,
    who: str | None = None,
    name: str | None = None,
) -> Explanation:
    """Why `policy` answers as it does. Arguments as in `Policy.decide`; `who` and `name` are what to call the
    caller and the object (by default the caller's key and the object's id).

    Raises KeyError for a permission that the vocabulary does not have.
    """
    resource = policy.vocabulary.by_permission[permission]
    plan = policy.plan(principal, permission, env)
    open_object = obj is None and bool(resource.columns)
    traces = policy.trace(principal, permission, obj, env, shared)
    steps = [_step(policy, principal, permission, trace, open_object) for trace in traces]
    covers = policy.covers(principal, permission)
    if open_object:
        verdict = ALLOWED if plan.outcome is ALWAYS else REFUSED if plan.outcome is NEVER else DEPENDS
    else:
        verdict = ALLOWED if policy.decide(principal, permission, obj, env, shared) else REFUSED
    decided = _decider(steps, verdict) if covers else None
    misses = steps if verdict == DEPENDS else []
    if verdict == REFUSED and decided is None:
        misses = [step for step in steps if step.rule.eft == "allow" and not step.holds]
    return Explanation(
        who=who or principal.key,
        principal=principal,
        permission=permission,
        object=name or (str(obj["id"]) if obj is not None and obj.get("id") is not None else None),
        verdict=verdict,
        roles=_roles(policy, principal.role),
        decided_by=decided,
        misses=tuple(sorted(misses, key=_distance)[:MOST_MISSES]) if covers else (),
        would={} if verdict == ALLOWED or not covers else _would(policy, principal.role, permission),
        scopes_cover=covers,
        covering_scopes=tuple(sorted(_covering(policy, principal, permission))),
        sql=_sql(plan, principal, env),
        policy_version=policy.version,
    )


def _step(policy: Policy, principal: Principal, permission: str, trace: RuleTrace, open_object: bool) -> Step:
    """How a line stands, and the way on which the caller's role, or key, comes to the role that it names."""
    via: tuple[str, ...] = (trace.rule.sub,)
    for start in (principal.role, principal.key):
        links = policy.roles.chain(start, trace.rule.sub)
        if links is not None:
            via = (start, *(link.inherits for link in links))
            break
    remarks = tuple(
        Remark(facts.asked(fact, permission), None)
        if open_object and facts.depends(fact)
        else Remark(facts.found(fact, permission), fact.holds)
        for fact in trace.facts
    )
    missing = tuple(facts.found(fact, permission) for fact in trace.failed)
    return Step(trace.rule, via, remarks, trace.matched, missing)


def _decider(steps: list[Step], verdict: str) -> Step | None:
    """The line to name: a deny that holds, else the allow nearest to the caller's own role."""
    effect = {ALLOWED: "allow", REFUSED: "deny"}.get(verdict)
    holding = [step for step in steps if step.holds and step.rule.eft == effect]
    return min(holding, key=lambda step: len(step.via), default=None)


def _distance(step: Step) -> tuple[int, int]:
    """How far a line was from holding: facts that are missing, then how far the role is inherited."""
    return len(step.missing), len(step.via)


def _roles(policy: Policy, role: str) -> tuple[str, ...]:
    """The role, and what it inherits, the nearest first."""
    inherited = policy.roles.closure(role) - {role}
    return (role, *sorted(inherited, key=lambda name: (len(policy.roles.chain(role, name) or ()), name)))


def _would(policy: Policy, role: str, permission: str) -> dict[str, tuple[str, ...]]:
    """Who has the permission in a way that `role` has not: condition → roles."""
    grants = Grants(policy)
    mine = grants.of(role, permission)
    found: dict[str, list[str]] = {}
    for name in ordered(policy.vocabulary.roles):
        theirs = grants.of(name, permission)
        if not mine.covers(theirs):
            found.setdefault(theirs.words, []).append(name)
    return {words: tuple(names) for words, names in found.items()}


def _covering(policy: Policy, principal: Principal, permission: str) -> Iterator[str]:
    if principal.scopes is None:
        return
    for scope in policy.scope_names:
        alone = Principal(principal.id, principal.key, principal.role, principal.tenant_id,
                          scopes=frozenset((scope,)))  # fmt: skip
        if policy.covers(alone, permission):
            yield scope


def _sql(plan: Plan, principal: Principal, env: Any) -> str | None:
    """The plan as the WHERE that a list would have, values filled in, for reading only."""
    if plan.outcome is NEVER:
        return None

    def parameter(root: str, attribute: str) -> pw.Node:
        return pw.Value(getattr(principal if root == "sub" else env, attribute))

    columns = {name: pw.SQL(name) for name in plan.columns}
    found = where(plan, columns, parameter, lambda: cast(pw.Expression, pw.SQL(_SHARES)))
    written = [_written(allow) for allow in found.allows or ()]
    allows = [" OR ".join(f"({text})" for text in written)] if len(written) > 1 else written
    return " AND ".join([*allows, *map(_written, found.denies)]) or "every row"


def _written(node: pw.Node) -> str:
    sql, values = pw.Context().sql(node).query()  # type: ignore[no-untyped-call]
    pieces = str(sql).split("?")
    shown = [f"'{value}'" if isinstance(value, str) else str(value) for value in values]
    text = pieces[0] + "".join(value + piece for value, piece in zip(shown, pieces[1:], strict=True))
    while _enclosed(text):
        text = text[1:-1]
    return text


def _enclosed(text: str) -> bool:
    """Whether one pair of brackets is around the whole."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return character == ")" and position == len(text) - 1
    return False


def _listed(head: str, step: Step) -> Iterator[tuple[str, str]]:
    yield head, f"{step.rule.place}  {step.line}"
    for fact in step.facts:
        yield "", f"{_MARK[fact.holds]} {fact.text}"
