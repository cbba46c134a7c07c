"""Prediction of a request's answer and its reasons: the policy, the rules in code, and the order of the pipeline.

`explain` of the commands and of the API use it. It calls the same code as the stages `admit`, `load`, `judge` and `act`
of `pipeline/stages`, in the same order: `Access`, `shows` and the rules in code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from gatepost.collections.collection import Collection
from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import Problem, not_found
from gatepost.http.request.access import Access
from gatepost.http.request.call import Call
from gatepost.http.request.endpoint import Endpoint
from gatepost.http.request.implied import ImpliedRequests
from gatepost.http.writing.rules_in_code import ACCOUNT, OTHER, OWNED, TENANT, RuleInCode
from gatepost.http.writing.writable import Writable
from policies import ALWAYS
from policies.explaining.explain import explain
from policies.explaining.explanation import ALLOWED, DEPENDS, MARK, REFUSED, Explanation
from policies.explaining.facts import Called, nameless
from policies.syntax.attributes import ENVIRONMENT

from .new_rows import said_by_body, stamped

HIDDEN = "hidden"
EXPECTED = (ALLOWED, REFUSED, HIDDEN)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A hypothetical request. All fields are about its caller, not about the user who asks.

    who         name of the caller
    access      access of the caller
    requests    the possible requests; `endpoint` is the likeliest one, None if no request needs only this permission
    collection  collection of the object; None if there is none
    call        call of the caller, for the collection's own code
    row         the object; None: any
    person      true if the caller is one user, and not a role
    active      true if the account is active; None if that is hidden, or for a role
    offline     true if `call` has no services
    title       name of the row
    called      returns names of values in facts
    """

    who: str
    permission: str
    access: Access
    requests: ImpliedRequests
    collection: Collection | None
    call: Call
    row: Any = None
    person: bool = False
    active: bool | None = None
    offline: bool = False
    title: str = ""
    called: Called = nameless

    @property
    def verb(self) -> str:
        return self.permission.partition(".")[2]

    @property
    def endpoint(self) -> Endpoint | None:
        return self.requests.endpoint

    @property
    def loads(self) -> bool:
        """True if the request first loads a row through `<resource>.view`."""
        return self.collection is not None and (self.endpoint is None or "<id>" in self.endpoint.path)

    def by(self, endpoint: Endpoint) -> Question:
        """Returns the same question about another of its requests."""
        access, call = self.access.by(endpoint.method), copy(self.call)
        call.endpoint, call.access = endpoint, access
        return replace(self, requests=replace(self.requests, endpoints=(endpoint,)), access=access, call=call)


@dataclass(frozen=True)
class Prediction:
    """The answer to a `Question`.

    policy   the explanation of the policy's decision alone
    verdict  allowed, refused, or depends: on the row, which was not named
    problem  the error that is answered
    reason   the reason, if it is not a rule of the policy
    view     the explanation why the caller may not view the row
    rules    the rules in code about it
    others   requests with other methods and other answers
    """

    question: Question
    policy: Explanation
    verdict: str
    problem: Problem | None = None
    reason: str = ""
    view: Explanation | None = None
    rules: tuple[RuleInCode, ...] = ()
    others: tuple[Prediction, ...] = ()

    @property
    def hidden(self) -> bool:
        """True if the answer is 404, as if the row were absent."""
        return self.problem is not None and self.problem.code == "not_found"

    @property
    def result(self) -> str:
        """One of `EXPECTED`, or depends."""
        return HIDDEN if self.hidden else self.verdict

    @property
    def status(self) -> int | None:
        """The status of the answer; None if it depends on the row, or if no request needs only this permission."""
        endpoint = self.question.endpoint
        if self.problem is not None and (endpoint is not None or self.hidden):
            return self.problem.status
        return None if endpoint is None or self.verdict == DEPENDS else endpoint.status

    @property
    def request(self) -> str | None:
        """The request that the answer is about, such as `PATCH /api/articles/<id>`."""
        endpoint = self.question.endpoint
        return None if endpoint is None else f"{endpoint.method} {endpoint.path}"

    @property
    def summary(self) -> str:
        """The answer and its reason in one sentence."""
        if not self.reason:
            return self.policy.summary
        on = f" on {self.policy.object}" if self.policy.object else ""
        start = f"{self.policy.who} ({self.policy.principal.role})"
        if self.verdict == DEPENDS:
            return f"{start} may {self.policy.permission}, depending on the object: {self.reason}"
        alone = self.policy.decided_by
        allowed = alone is not None and self.policy.verdict == ALLOWED
        lifted = f" ({alone.rule.place} alone would allow it)" if allowed and alone is not None else ""
        return f"{start} may not {self.policy.permission}{on}: {self.reason}{lifted}"

    def as_lines(self) -> list[str]:
        """Returns the summary and the details, for a terminal. Quoted values may have line breaks."""
        return [self.summary, *(f"  {head:<9} {line}" for head, line in self._details()), *self.policy.as_lines()[1:]]

    def _details(self) -> Iterator[tuple[str, str]]:
        if self.question.title:
            yield "object", f"{self.policy.object} ({self.question.title})"
        if self.status is not None or self.request is not None:
            yield "answer", self._answered
        for other in self.others:
            yield "otherwise", other._answered
        if self.hidden:
            yield "hidden", f"{self.policy.who} cannot even view it: the answer is 404, as if it were absent"
            if self.view is not None and self.view.permission != self.policy.permission:
                yield "", self.view.summary
        for rule in self.rules:
            otherwise = "" if rule.refusal is None else \
                f" ({'else ' if rule.sent else ''}{rule.refusal.status} {rule.refusal.code})"
            yield "rule", f"{MARK[rule.holds]} {rule.name}: {rule.text}{otherwise}"

    @property
    def _answered(self) -> str:
        code = f" {self.problem.code}" if self.problem is not None else ""
        request = "" if self.request is None else f", to {self.request}"
        return f"{'depends on the object' if self.status is None else f'{self.status}{code}'}{request}"

    def as_json(self) -> dict[str, Any]:
        """Returns the prediction as JSON-ready data."""
        environment = self.question.access.environment
        return {
            **self.policy.as_json(),
            "verdict": self.verdict,
            "policy_verdict": self.policy.verdict,
            "summary": self.summary,
            "hidden": self.hidden,
            "status": self.status,
            "code": self.problem.code if self.problem is not None and self.status is not None else None,
            "request": self.request,
            "other_requests": [{"request": other.request, "verdict": other.verdict, "status": other.status,
                                "summary": other.summary} for other in self.others],
            "object_name": self.question.title or None,
            "view": None if self.view is None else self.view.summary,
            "rules": [{"name": rule.name, "text": rule.text, "holds": rule.holds,
                       "status": None if rule.refusal is None else rule.refusal.status} for rule in self.rules],
            "circumstances": {name: getattr(environment, name) for name in ENVIRONMENT},
        }


def predict(question: Question) -> Prediction:
    """Predicts the answer. For a row or a user, the database must be connected."""
    prediction, requests = _predict(question), question.requests
    if len(requests.distinct_methods(question.access.policy)) < 2:
        return prediction
    others = [_predict(question.by(endpoint)) for endpoint in requests.endpoints[1:]]
    return replace(prediction, others=tuple(other for other in others if other.result != prediction.result))


def _predict(question: Question) -> Prediction:
    access = question.access
    drafted = _draft(question) if question.row is None and question.verb == "create" else None
    row = question.row if drafted is None else drafted
    values = None if row is None else row.__data__
    policy = _explained(question, question.permission, values, drafted is not None)
    rules = tuple(_rules(question, row))
    view = None
    if question.row is not None and question.collection is not None:
        view = _explained(question, question.collection.view, values, False)

    def refused(problem: Problem | None, reason: str = "", because: Explanation | None = None) -> Prediction:
        return Prediction(question, policy, REFUSED, problem, reason, because, rules)

    refusing = {rule.name: rule for rule in rules if rule.refuses}
    # A list is still answered, but without the row.
    left_out = question.endpoint is not None and question.endpoint.narrows
    if ACCOUNT in refusing:
        return refused(refusing[ACCOUNT].refusal, refusing[ACCOUNT].text)
    if not access.may_ever(question.permission):
        return refused(access.refusal(question.permission))
    if TENANT in refusing:
        return refused(refusing[TENANT].refusal, refusing[TENANT].text)
    if question.collection is not None and question.row is not None and (question.loads or left_out) \
            and not question.collection.shows(question.call, question.row.__data__):
        # If the policy refuses it too, its own sentence says more.
        reason = "" if policy.verdict == REFUSED else "the caller cannot view it, so that the answer is 404"
        return refused(None if left_out else not_found(), reason, view)
    if question.collection is not None and row is None and question.collection.view in question.requests.needed \
            and not access.may_ever(question.collection.view):
        if not question.loads:
            return refused(access.refusal(question.permission), "the caller can view none of these")
        return refused(not_found(), "the caller can view none of these, so that the answer is 404")
    if policy.verdict == REFUSED:
        return refused(None if left_out else access.refusal(question.permission))
    if question.row is not None:
        for needed in question.requests.needed:
            if needed != question.permission and not access.would_allow(needed, values):
                return refused(None if left_out else access.refusal(needed), f"the request also needs {needed}")
    if refusing:
        rule = next(iter(refusing.values()))
        return refused(rule.refusal, rule.text)
    if policy.verdict == ALLOWED and question.collection is not None and question.loads and row is None \
            and access.plan(question.collection.view).outcome is not ALWAYS:
        return Prediction(question, policy, DEPENDS, reason="the caller can view only some of them", rules=rules)
    return Prediction(question, policy, policy.verdict, rules=rules)


def _rules(question: Question, row: Any) -> Iterator[RuleInCode]:
    """Yields every rule in code about the question, in the order of the service."""
    if question.person and question.active is None:
        yield RuleInCode(ACCOUNT, Message("whether the account is active is not shown to you"), sent=True)
    elif question.person:
        refusal = None if question.active else Problem("invalid_token", "The session has ended. Log in again.")
        text = Message("the account is active") if question.active else Message("the account is disabled")
        yield RuleInCode(ACCOUNT, text, refusal)
    if question.collection is None:
        return
    if row is not None and row.tenant_id != question.access.principal.tenant_id:
        yield RuleInCode(TENANT, Message("the object belongs to another tenant"), not_found())
        return
    refused = False
    for rule in question.collection.rules_in_code(question.call, question.verb, row):
        refused = refused or rule.refuses
        yield rule
    if row is not None and not refused and question.collection.restricted(question.verb) \
            and type(question.collection).restrict is not Writable.restrict:
        question.call.row = row
        try:
            question.collection.restrict(question.call)
        except Problem as problem:
            yield RuleInCode(OTHER, problem.detail or problem.code, problem)
    if question.verb == "create" and row is not None and question.person:
        most, refusal = question.call.services.row_quota.refusal(question.collection, row, question.access.allows)
        if most:
            text = Message("the caller owns fewer than {most} of these, which is the most") if refusal is None else \
                Message("the caller owns already {most} of these, which is the most")
            yield RuleInCode(OWNED, text.format(most=most), refusal)


def _draft(question: Question) -> Any:
    """Returns the new row without values of a body; None if the rules read columns that a body sets."""
    collection, access = question.collection, question.access
    if collection is None or (question.offline and type(collection).stamp is not Writable.stamp):
        return None
    row = stamped(collection, question.call)
    by_body = said_by_body(collection, row)
    reads = access.policy.reads(access.principal, question.permission)
    if any(root == "obj" and name in by_body for root, name in reads):
        return None
    return row


def _explained(question: Question, permission: str, values: Mapping[str, Any] | None, drafted: bool) -> Explanation:
    access = question.access
    explanation = explain(access.policy, access.principal, permission, values, access.environment, access.shared,
                          who=question.who, called=question.called)
    return replace(explanation, object=None) if drafted else explanation
