"""`POST /api/admin/policy/try` and `…/apply`.

Users of other tenants stay hidden, and rules about them cannot be changed here.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, cast

from marshmallow import fields

from gatepost import Call, Fault, Int, Line, Message, Problem, Routes, StrictSchema, later
from gatepost.collections.registry import Registry
from gatepost.http.request.access import Access
from gatepost.http.request.audit import origin_of
from gatepost.http.request.identity import as_of_now
from gatepost.rules.change import Candidate, Changing, Overtaken
from gatepost.rules.redaction import hidden_ids, mentions, withheld
from models.base import DAY
from models.tables.node import alive, places
from models.tables.policy_version import HTTP
from policies import PolicyError
from policies.evaluation.principal import FixedEnvironment
from policies.syntax.attributes import REQUESTS
from settings.declared import FILES

from .child import Trial, checked, tried
from .files import LARGEST_BODY, Files, PolicyFiles, refuse_about_others, refuse_hidden, visible
from .trial import COMPARISON, FINDINGS, REPLAY, ROWS, Question

MOST_CHANGES = 1_000  # in an answer
_LONGEST_NOTE = 500  # characters

routes = Routes("policy_changes", "Try a change of the access rules, and apply it.")
_log = logging.getLogger("gatepost.policy")


class TrySchema(StrictSchema):
    files = PolicyFiles(required=True)
    replay_days = Int(minimum=1, maximum=366, metadata={
        "description": "Repeat the recorded decisions of this many days with both policies; also needs `audit.view`."})


class ApplySchema(StrictSchema):
    files = PolicyFiles(required=True)
    note = Line(maximum=_LONGEST_NOTE, metadata={"description": "The reason, for the policy history."})
    base_version = Line(required=True, metadata={
        "description": "The current version that the change was made for: `version` of `GET /api/admin/policy`."})


class FindingSchema(StrictSchema):
    """A finding about a file; line 0 means the whole file. Files with an error cannot be applied."""

    file = fields.String(required=True)
    line = fields.Integer(required=True)
    message = fields.String(required=True)
    severity = fields.String(required=True, metadata={"enum": ["error", "warning"]})


class ExampleSchema(StrictSchema):
    """A made-up request that would get another answer, in words."""

    gained = fields.String(required=True, allow_none=True)
    lost = fields.String(required=True, allow_none=True)


class ChangeSchema(StrictSchema):
    """A change of what one role, user or scope may do."""

    role = fields.String(required=True, allow_none=True)
    user = fields.String(required=True, allow_none=True, metadata={
        "description": "The id of a user with rules of their own."})
    scope = fields.String(required=True, allow_none=True)
    having = fields.List(fields.String(), required=True, metadata={
        "description": "The roles with which the change affects a user whose role is not known; empty: any role."})
    permission = fields.String(required=True)
    sign = fields.String(required=True, metadata={
        "enum": ["+", "-", "~", "?"],
        "description": "`+` more is allowed, `-` less, `~` some more and some less, `?` it could not be decided."})
    before = fields.String(required=True, allow_none=True, metadata={"description": "null: never."})
    after = fields.String(required=True, allow_none=True, metadata={"description": "null: never."})
    example = fields.Nested(ExampleSchema, required=True)
    lines = fields.List(fields.String(), required=True, metadata={
        "description": "The rules that cause the change: `users.csv:14`."})
    lines_before = fields.List(fields.String(), required=True, metadata={
        "description": "The current rules that decided before."})


class TrialSchema(StrictSchema):
    """Effects of a change. null: not requested, not possible because of errors, or `incomplete`."""

    base_version = fields.String(required=True, metadata={"description": "The current version."})
    version = fields.String(required=True, allow_none=True, metadata={
        "description": "The version of the files in the trial."})
    findings = fields.List(fields.Nested(FindingSchema), required=True)
    findings_left_out = fields.Integer(required=True, metadata={
        "description": "The number of findings about users of other tenants."})
    changes = fields.List(fields.Nested(ChangeSchema), required=True, allow_none=True, metadata={
        "description": f"The first {MOST_CHANGES} effective changes, without those about users of other tenants."})
    more_changes = fields.Integer(required=True, metadata={"description": "The number of further changes."})
    invariants = fields.List(fields.String(), required=True, allow_none=True, metadata={
        "description": "Lines of invariants.csv that are added (`+ …`) or removed (`− …`)."})
    groups = fields.List(fields.String(), required=True, allow_none=True, metadata={
        "description": "Lines that give a role to a group of an identity provider, added (`+ …`) or removed (`− …`). "
                       "They change the role of a member at the next login."})
    rows = fields.Dict(required=True, allow_none=True, metadata={
        "description": "Stored rows that become visible or hidden, among rows and users that the caller may view: "
                       "`changes`, `not_counted`, `assumes`, as `gatepost policy diff --rows --json` has them."})
    replay = fields.Dict(required=True, allow_none=True, metadata={
        "description": "Recorded decisions that would change: `let_in`, `refused_now`, `unknown`, as "
                       "`gatepost policy diff --replay --json` has them."})
    incomplete = fields.Dict(keys=fields.String(), values=fields.String(), required=True, metadata={
        "description": "Unknown parts of this answer: `timeout` (more than 5 seconds of work) or "
                       "`failed` (the log of the service says why)."})


class AppliedSchema(StrictSchema):
    version = fields.String(required=True, metadata={"description": "The version that is current now."})


@routes.post("/api/admin/policy/try", permission="policy.view", body=TrySchema(), answer=TrialSchema(), writes=False,
             operation="policy_try", problems=(409,), largest_body=LARGEST_BODY, cost=50)
def try_change(call: Call) -> dict[str, Any]:
    """Show the effects of a change of the policy files. Nothing is changed."""
    _require_settled(call)
    days = call.body.get("replay_days")
    if days is not None:
        call.access.require("audit.view")
    parts = (COMPARISON, ROWS) if days is None else (COMPARISON, ROWS, REPLAY)
    trial = tried(_question(call, call.body["files"], parts, None if days is None else later(-days * DAY)))
    compared = trial.parts.get(COMPARISON)
    changes = None if compared is None else visible(call, compared["changes"])
    findings = visible(call, trial.findings)
    return withheld(call, {
        "base_version": call.access.policy.version,
        "version": None if compared is None else compared["version"],
        "findings": [{name: finding[name] for name in FindingSchema().fields} for finding in findings],
        "findings_left_out": len(trial.findings) - len(findings),
        "changes": None if changes is None else changes[:MOST_CHANGES],
        "more_changes": max(0, len(changes or ()) - MOST_CHANGES),
        "invariants": None if compared is None else _visible_lines(call, compared["invariants"]),
        "groups": None if compared is None else compared["groups"],
        "rows": trial.parts.get(ROWS), "replay": trial.parts.get(REPLAY), "incomplete": trial.incomplete,
    })


@routes.post("/api/admin/policy/apply", permission="policy.update", body=ApplySchema(), answer=AppliedSchema(),
             operation="policy_apply", problems=(409,), writes=False, largest_body=LARGEST_BODY, cost=50)
def apply(call: Call) -> dict[str, Any]:
    """Apply a change of the policy files. If it is sent again, nothing changes."""
    if not call.services.settings.policy_edit:
        raise Problem("forbidden", "Policies are not changed over HTTP here: the setting policy_edit is off.")
    files: Files = call.body["files"]
    _require_reach(call)
    _require_settled(call)
    refuse_hidden(call, files)
    # First in a process of its own, because a text may take forever to check.
    _require_good(call, checked(_question(call, files, ())))
    registry = cast(Registry, call.services.registry)
    changing = Changing.of(call.services.settings, registry, call.services.database, call.services.guest_tenant)
    try:
        candidate = changing.candidate({name: None if text is None else text.encode() for name, text in files.items()})
    except PolicyError:
        raise _overtaken(call) from None
    _ask_again(call)
    refuse_about_others(call, candidate.policy)
    # Another node may have changed the policy since. The candidate is then based on that one.
    _require_settled(call)
    live = call.services.policy.current.version
    if not candidate.files and candidate.policy.version == live:
        return {"version": live}
    if call.body["base_version"] != live:
        raise _overtaken(call)
    _put_in_force(call, changing, candidate)
    return {"version": candidate.policy.version}


def _put_in_force(call: Call, changing: Changing, candidate: Candidate) -> None:
    try:
        changing.put_in_force(candidate, HTTP, call.principal.key, call.body.get("note"), origin_of(call))
    except Overtaken:
        raise _overtaken(call) from None
    except OSError as error:
        _log.error("a policy cannot be put in force over HTTP: %s", error)
        raise Problem("unavailable", "The policy files of this service cannot be written.") from error
    call.services.policy.reload()


def _question(call: Call, files: Files, parts: tuple[str, ...], since: str | None = None) -> Question:
    services, own = call.services, call.access.environment
    # Counts contain what the caller could read.
    environment = FixedEnvironment(hour=own.hour, weekday=own.weekday, date=own.date, now=own.now, ip=own.ip,
                                   device=own.device, method="GET", request=REQUESTS["GET"])
    return Question(settings=services.settings.own, extra=cast(Registry, services.registry).extra, files=files,
                    live=call.access.policy.files, guest_tenant=services.guest_tenant,
                    viewer=replace(call.principal, groups=tuple(call.principal.groups)), environment=environment,
                    parts=parts, since=since)


def _require_reach(call: Call) -> None:
    """Raises 409 if other nodes have policy files of their own."""
    services = call.services
    if services.settings.policy_source == FILES:
        with services.database.connected():
            nodes = len(places(alive(services.database)))
        if nodes > 1:
            raise Problem("conflict", Message(
                "{nodes} nodes serve this database, each with policy files of its own. Change the files of each, or "
                "set policy_source to database.", nodes=nodes))


def _ask_again(call: Call) -> None:
    """Refuses a caller who has lost the permission while the files were checked. Raises `Problem`."""
    with call.services.database.connected():
        call.principal = as_of_now(call.services, call.principal, call.credential_id)
    call.access = Access(call.services.policy.current, call.principal, call.access.environment)
    call.access.require(str(call.endpoint.permission))


def _require_settled(call: Call) -> None:
    policy = call.services.policy
    if policy.settle():
        # Another process may have put this one in force a moment ago.
        call.access = Access(policy.current, call.principal, call.access.environment)
        call.access.require(str(call.endpoint.permission))
    else:
        raise Problem("conflict", "The policy files on the disk are broken, or were just changed: the policy in force "
                                  "is not what they hold. GET /api/admin/policy says more.")


def _require_good(call: Call, trial: Trial) -> None:
    """Raises 400 with a fault for each error of the files."""
    if FINDINGS in trial.incomplete:
        raise Problem.of([Fault("invalid_field", "Checking the files takes too long.", pointer="/files")],
                         "invalid_body")
    errors = withheld(call, visible(call, trial.errors))
    faults = [Fault("invalid_field", Message("An error in {file}: {message}", file=error["file"],
                                             message=error["message"]), pointer="/files",
                    meta={"file": error["file"], "line": error["line"]}) for error in errors]
    if len(errors) < len(trial.errors):
        faults.append(Fault("invalid_field", "There are errors in rules about users of other tenants.",
                            pointer="/files"))
    if faults:
        raise Problem.of(faults, "invalid_body")


def _overtaken(call: Call) -> Problem:
    return Problem("conflict", Message(
        "The current policy is {version}, not the one that the change was made for. Read it, and try again.",
        version=call.services.policy.current.version))


def _visible_lines(call: Call, lines: list[str]) -> list[str]:
    hidden = hidden_ids(call, lines)
    return [line for line in lines if not mentions(line, hidden)]
