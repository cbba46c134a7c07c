"""Audit events of a request: the caller, the action, the object, the rule, and the refusal.

A write and its audit event commit together. Refusals and reads have no transaction; the `AuditWriter` stores them.

`decision` collects the facts by which the policy decided. `facts` keeps little of the client's other input, and no
text that might be a secret.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from models.base import is_id, is_new, read_id
from models.records.mailboxes import mailbox
from models.tables.audit import add
from models.tables.user import User

from ..auditing.refusals import GUESS, Refusal
from ..operations.limits import UNREADABLE, TooManyGuesses
from ..protocol import trace
from ..protocol.problems import Fault, Problem
from . import decision
from .call import Call
from .identity import guest

MOST_FIELDS = 10  # names of fields in one row
LONGEST_FIELD = 40  # characters of one name

# Codes of refusals by the policy; `not_found` if the caller may not view the object.
_OF_POLICY = ("unauthenticated", "insufficient_user_authentication", "forbidden", "insufficient_scope", "not_found")
_TRIED = ("read_only_field", "unknown_field")  # codes of faults about a field that the client tried to set
_HARMLESS = re.compile(r"[^A-Za-z0-9_./-]")
# Stricter than the address of an account: a password with an @ in it should not pass.
_ADDRESS = re.compile(r"""[^@\s"(),:;<>\[\\\]]{1,64}@ (?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)+
                          (?:[^\W\d_]{2,63} | xn--[a-z0-9-]{2,59})""", re.VERBOSE)


class WrongPassword(Problem):
    """Refusal of a wrong password. `note_failure` has already recorded it."""


class Export:
    """Export by the caller of `call` with these filters. Counts the rows that were sent."""

    def __init__(self, call: Call, filters: Mapping[str, str]) -> None:
        actor = call.principal
        resource, action = _resource_and_action(call)
        # The answer is sent after the end of the request.
        self._event = Refusal(actor.tenant_id, actor.key, actor.role, action, resource, None, address_of(call),
                              "allowed", _program(call), call.access.policy.version)
        self._writer, self._request_id = call.services.audit_writer, trace.request_id(call.request.environ)
        self._filters, self._rows = dict(filters), 0

    def count(self, rows: int) -> None:
        """Adds rows that are about to be sent."""
        self._rows += rows

    def note(self) -> None:
        """Records the export after it has ended or was aborted."""
        facts = facts_of_export(self._filters, self._rows)
        self._writer.refuse(self._event._replace(facts=facts), self._request_id)


def note_decision(call: Call) -> None:
    """Remembers the rule that allows the action, and the facts of the decision, from the row before the change."""
    permission = call.endpoint.permission
    if not call.endpoint.narrows:
        call.write.decision = decision.decided(call)
    if permission is not None:
        access = call.access
        rule = access.policy.deciding(call.principal, permission, None if call.row is None else call.facts,
                                      access.environment, access.shared)
        call.write.rule = None if rule is None else rule.place


def note_refused(call: Call) -> None:
    """Remembers the facts by which the policy refuses the row of a call, before and after the change."""
    before = call.write.decision
    call.write.decision = decision.decided(call) if before is None else decision.decided_again(call, before)


def note_hidden(call: Call) -> None:
    """Remembers the facts by which the row is hidden from the caller."""
    if call.endpoint.permission is not None:
        call.write.decision = decision.hidden(call)


def record(call: Call, *, result: str = "allowed", reason: str | None = None) -> None:
    """Adds the audit event of a write, inside its transaction."""
    resource, action = _resource_and_action(call)
    actor = call.write.acted_as or call.principal
    id = None if call.row is None else call.facts.get("id")
    decided = call.write.decision
    if decided is not None and call.endpoint.judge_after:
        decided = decision.decided_again(call, decided)
    dropped = f"removed: {', '.join(call.write.dropped)}" if call.write.dropped else None
    add(
        tenant_id=actor.tenant_id, principal=actor.key, role=actor.role, action=action,
        resource=resource, resource_id=id,
        address=address_of(call), result=result, rule=call.write.rule,
        reason=", ".join(filter(None, (call.write.rule, reason, _program(call), call.write.note, dropped))) or None,
        policy_version=call.access.policy.version, request_id=trace.request_id(call.request.environ),
        facts=call.write.facts or decision.recorded(call, decided, resource, action, id))


def note_refusal(call: Call, problem: Problem) -> None:
    """Records the refusal of a request: 401 and 403, 404 for an object, 429 for a guess, 400 for fields that the caller
    cannot set or that do not exist. `note_failure` records wrong passwords.
    """
    if isinstance(problem, WrongPassword):
        return
    if isinstance(problem, TooManyGuesses):
        _note(call, _refusal(call, problem.code, what=("session", GUESS), facts=_facts_of_login(call)))
    elif problem.status in (401, 403) or (problem.code == "not_found" and _is_named(call)):
        _note(call, _refusal(call, problem.code, decided=problem.code in _OF_POLICY))
    elif problem.status == 400 and (facts := facts_of_faults(problem.faults)) is not None:
        code = next(code for code in _TRIED if any(fault.code == code for fault in problem.faults))
        _note(call, _refusal(call, code, facts=facts))


def note_failure(call: Call, user: User | None, reason: str = "invalid_credentials") -> None:
    """Records a wrong password or code in the tenant of the account; for a login also the e-mail address."""
    refusal = _refusal(call, reason, result="failed", facts=_facts_of_login(call, user))
    account = {"resource_id": None} if user is None else {"tenant_id": user.tenant_id, "resource_id": user.id}
    _note(call, refusal._replace(**account))


def note_look(call: Call, about: str | None = None) -> None:
    """Records that the caller has read the audit log, or the rights of another user (`about`). Once an hour each."""
    resource, action = _resource_and_action(call)
    actor = call.principal
    call.services.audit_writer.look(tenant_id=actor.tenant_id, principal=actor.key, role=actor.role, resource=resource,
                             action=action, resource_id=about, address=address_of(call), result="allowed",
                             reason=_program(call), policy_version=call.access.policy.version,
                             request_id=trace.request_id(call.request.environ))


def origin_of(call: Call) -> dict[str, str | None]:
    """Returns role, address, rule and request id of the call, for an audit event that is added later."""
    access, permission = call.access, call.endpoint.permission or ""
    rule = access.policy.deciding(call.principal, permission, None, access.environment, access.shared)
    return {"role": call.principal.role, "address": address_of(call), "rule": None if rule is None else rule.place,
            "request_id": trace.request_id(call.request.environ)}


def facts_of_export(filters: Mapping[str, str], rows: int) -> str:
    """Returns the filters of an export and its number of rows, as facts."""
    return _facts(filters=dict(filters), count=rows)


def facts_of_faults(faults: Iterable[Fault]) -> str | None:
    """Returns the fields of a body that its sender cannot set, as facts; None if there is none."""
    names = sorted({_HARMLESS.sub("?", (fault.pointer or "/")[1:])[:LONGEST_FIELD]
                    for fault in faults if fault.code in _TRIED})
    more = {"more": len(names) - MOST_FIELDS} if len(names) > MOST_FIELDS else {}
    return _facts(fields=names[:MOST_FIELDS], **more) if names else None


def facts_of_import(call: Call, faults: Iterable[Fault], decided: decision.Grouped) -> str | None:
    """Returns the facts of the decisions about an import's rows, and the fields that its lines could not set."""
    fields, groups = facts_of_faults(faults), decided.written(call)
    return f"{groups[:-1]},{fields[1:]}" if groups and fields else groups or fields


def _refusal(call: Call, reason: str, *, result: str = "refused", what: tuple[str, str] | None = None,
             facts: str | None = None, decided: bool = False) -> Refusal:
    """Returns a refusal of the call; `decided`: with the facts of the policy's decision, if there was one."""
    resource, action = what or _resource_and_action(call)
    # A caller with an invalid token has no principal.
    actor = call.actor or guest(call.services.guest_tenant)
    # A client chooses the path: a text that is not an id is not stored, and does not distinguish refusals.
    id = read_id(call.path.get("id", ""))
    if call.row is not None:
        id = None if is_new(call.row) else call.facts.get("id")  # a refused new row is not stored
    if decided:
        facts = decision.recorded(call, decision.of_refusal(call), resource, action, id)
    # The policy may have changed since the decision.
    policy = call.access.policy if hasattr(call, "access") else call.services.policy.current
    return Refusal(actor.tenant_id, actor.key, actor.role, action, resource, id, address_of(call), result, reason,
                   policy.version, facts, facts is not None and decided)


def _note(call: Call, refusal: Refusal) -> None:
    call.services.audit_writer.refuse(refusal, trace.request_id(call.request.environ))


def _facts_of_login(call: Call, user: User | None = None) -> str | None:
    """Returns the e-mail address of a login, as facts. Omits other texts: one may be a password in the wrong field."""
    if call.endpoint.permission != "session.create":
        return None
    email = call.body.get("email", "") if user is None else user.email  # the next step of a login has no address
    is_address = user is not None or (email.isprintable() and _ADDRESS.fullmatch(email))
    return _facts(email=mailbox(email)) if is_address else None


def _facts(**facts: Any) -> str:
    """Returns facts as they are stored. If they are too long, keeps only the numbers."""
    text = json.dumps(facts, separators=(",", ":"))
    if len(text) <= decision.MOST:
        return text
    return _facts(**{name: value if isinstance(value, int) else decision.TOO_LONG for name, value in facts.items()})


def _program(call: Call) -> str | None:
    actor = call.write.acted_as or call.principal
    if actor.kind != "service":
        return None
    return f"service token {call.credential_id}" if is_id(call.credential_id or "") else call.credential_id


def address_of(call: Call) -> str | None:
    """Returns the client's address; `UNREADABLE` if it is not an address, because a client may have written it."""
    return call.request.remote_addr or (UNREADABLE if call.request.environ.get("REMOTE_ADDR") else None)


def _is_named(call: Call) -> bool:
    """True if the endpoint names its action, by its permission or by `recorded`."""
    return bool(call.endpoint.permission or call.endpoint.recorded)


def _resource_and_action(call: Call) -> tuple[str, str]:
    """Returns (resource, action) from `recorded`, else from the permission of the endpoint."""
    resource, _, action = (call.endpoint.recorded or call.endpoint.permission or call.endpoint.name).partition(".")
    return resource, action or call.endpoint.name
