"""The answer to "why?": plain data with two faces, `as_text` for an administrator and `as_json` for programs.

`explain` finds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..evaluation.principal import Principal
from ..syntax.roles import RoleOfGroup
from ..syntax.rules import Rule

ALLOWED, REFUSED, DEPENDS = "allowed", "refused", "depends"
MARK = {True: "✓", False: "✗", None: "?"}


@dataclass(frozen=True, slots=True)
class Remark:
    """A fact in words. `holds` is None when it depends on an object that was not named."""

    text: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Step:
    """A rule about the caller, the roles by which it applies, and the facts that it reads.

    For a rule about `user:<id>`, `person` is the name of the user, if known.
    """

    rule: Rule
    via: tuple[str, ...]
    facts: tuple[Remark, ...]
    holds: bool
    missing: tuple[str, ...] = ()
    person: str = ""

    @property
    def line(self) -> str:
        return str(self.rule)

    @property
    def reason(self) -> str:
        """"articles.csv:14 needs own; owner_id is 7, the caller's id is 9"."""
        return f"{self.rule.place} needs {self.rule.when}; {'; '.join(self.missing)}"

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.rule.file,
            "line": self.rule.line,
            "rule": self.line,
            "person": self.person or None,
            "roles": list(self.via),
            "facts": [{"text": fact.text, "holds": fact.holds} for fact in self.facts],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer to one question, and its reasons.

    verdict     allowed, refused, or depends: on an object that was not named
    decided_by  the rule that allowed or denied; None if no rule did
    misses      rules that lack a fact to allow this, the nearest first
    would       condition → roles that have the permission under it
    lost        true if no user can have the caller's role under this policy
    given_by    the line by which a group of the caller has this role, from the login with an identity provider; or None
    fallback    the permission that decides this one, as no rule allows it by its own name; None: it decides itself
    sql         filter for a list of these objects; None: the list is empty
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
    lost: bool = False
    fallback: str | None = None
    given_by: RoleOfGroup | None = None

    @property
    def summary(self) -> str:
        """One sentence."""
        on = f" on {self.object}" if self.object else ""
        start = self.who if self.who == self.principal.role else f"{self.who} ({self.principal.role})"
        decider = f". No rule names {self.permission}; {self.fallback} decides." if self.fallback else ""
        if self.verdict == DEPENDS:
            return f"{start} may {self.permission}, depending on the object{decider}"
        verdict = "may" if self.verdict == ALLOWED else "may not"
        return f"{start} {verdict} {self.permission}{on}: {self._because}{decider}"

    @property
    def _because(self) -> str:
        if not self.scopes_cover:
            return "the token's scopes do not cover it"
        if self.decided_by is not None:
            step = self.decided_by
            inherited = f", inherited by {' → '.join(step.via)}" if len(step.via) > 1 else ""
            word = "denies it" if step.rule.eft == "deny" else "allows it"
            return f"{step.rule.place} {word} ({step.rule.when}){inherited}"
        if self.lost:
            return f"the policy has no role {self.principal.role} for users, and gives them nothing"
        if self.misses:
            return self.misses[0].reason
        return f"no rule gives {self.permission} to {' or '.join(self.roles)}"

    def as_lines(self) -> list[str]:
        """Returns the summary and the details, for a terminal. Quoted values may contain line breaks."""
        return [self.summary, *(f"  {head:<9} {line}" for head, line in self._details())]

    def as_text(self) -> str:
        """The same as one text."""
        return "\n".join(self.as_lines())

    def _details(self) -> Iterator[tuple[str, str]]:
        role, *inherited = self.roles
        yield "role", f"{role}, which inherits {', '.join(inherited)}" if inherited else role
        if self.given_by is not None:
            yield "given", f"{self.given_by.place}  {self.given_by}"
        if self.principal.scopes is not None:
            yield "scopes", ", ".join(sorted(self.principal.scopes)) or "none"
            if not self.scopes_cover:
                yield "needed", " or ".join(self.covering_scopes) or "no scope covers this"
        if self.decided_by is not None:
            yield from _listed("decided", self.decided_by)
        for step in self.misses:
            yield from _listed("rule" if self.verdict == DEPENDS else "not met", step)
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
            "given_by": self.given_by and self.given_by.as_json(),
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


def _listed(head: str, step: Step) -> Iterator[tuple[str, str]]:
    yield head, f"{step.rule.place}  {step.line}{f'  ({step.person})' if step.person else ''}"
    for fact in step.facts:
        yield "", f"{MARK[fact.holds]} {fact.text}"
