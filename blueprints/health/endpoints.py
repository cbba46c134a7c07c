"""`GET /api/health`: the state of the service, with details for callers with `policy.view`; `/api/health/live`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any, cast

from marshmallow import fields

from gatepost import Call, Installation, Routes, StrictSchema
from gatepost.collections.registry import Registry
from gatepost.health import checks
from gatepost.health.check_result import UNKNOWN, CheckResult, State
from gatepost.health.checks import worst
from gatepost.rules.redaction import trouble
from models.base import now
from models.engine.errors import RowError
from models.records.times import elapsed
from models.tables.backup import ages
from models.tables.job import backlog
from models.tables.user import User
from policies.loading.lost import lost

routes = Routes("health", "Whether the service works.")

_FOR_READERS = {"description": "Only for callers with `policy.view`."}
_LIVE = "it is the liveness probe of a supervisor, and tells nothing else"
_VERSION = version("gatepost")  # read once, because health must also answer when no file can be opened
_FOR_ALL = ("database", "migrations", "policy", "limits")


class BacklogSchema(StrictSchema):
    """Numbers of jobs."""

    waiting = fields.Integer(required=True)
    running = fields.Integer(required=True)
    failed = fields.Integer(required=True)
    seconds = fields.Float(required=True, metadata={
        "description": "For how long the oldest job that waits has been due."})


class BackupsSchema(StrictSchema):
    """Seconds since the newest backup was made, and since one was last proved by a restore; null: never."""

    made_seconds_ago = fields.Float(required=True, allow_none=True)
    proved_seconds_ago = fields.Float(required=True, allow_none=True)


class FindingOfHealthSchema(StrictSchema):
    """A check that is not OK, with a sentence about what to do."""

    check = fields.String(required=True)
    state = fields.String(required=True, metadata={"enum": [*State]})
    detail = fields.String(required=True)


class HealthSchema(StrictSchema):
    """`ok`, `degraded` or `down`, together and for each check; 503 when it is down.

    All callers see the checks `database`, `migrations`, `policy` and `limits`; callers with `policy.view` see
    `addresses`, `keys`, `disk`, `clock`, `jobs` and `backups`, too. `status` is by all of them.
    """

    status = fields.String(required=True, metadata={"enum": [*State]})
    checks = fields.Dict(keys=fields.String(), values=fields.String(metadata={"enum": [*State]}), required=True)
    findings = fields.List(fields.Nested(FindingOfHealthSchema), metadata=_FOR_READERS)
    policy_version = fields.String(metadata=_FOR_READERS)
    policy_error = fields.String(metadata=_FOR_READERS)
    users_without_role = fields.Integer(metadata={"description": (
        "How many users have a role that no user can have; they may do nothing. " + _FOR_READERS["description"])})
    jobs = fields.Nested(BacklogSchema, metadata=_FOR_READERS)
    backups = fields.Nested(BackupsSchema, metadata=_FOR_READERS)
    written_seconds_ago = fields.Float(allow_none=True, metadata={"description": (
        "Seconds since this process has written a row to learn whether writes are possible; at most every 5. "
        + _FOR_READERS["description"])})
    version = fields.String(metadata=_FOR_READERS)


class AliveSchema(StrictSchema):
    status = fields.String(required=True, metadata={"enum": [State.OK]})


@routes.get("/api/health", permission="health.view", answer=HealthSchema(), offline=True,
            statuses=(503,), operation="health_get")
def health(call: Call) -> dict[str, Any]:
    """Say whether the service works, part by part; 503 when it does not."""
    services = call.services
    probe = services.write_probe.probe()
    results = {"database": _database(call, checks.writes(probe))}
    # If Postgres does not answer, the other checks do not query it, too.
    silent = services.database.dialect == "postgres" and results["database"].state is State.DOWN
    results |= _other_checks(call, silent=silent)
    status = worst(result.state for result in results.values())
    call.status = 503 if status is State.DOWN else 200
    if not call.access.may_ever("policy.view"):
        # More would reveal weaknesses to guests, and the time of policy changes.
        return {"status": status, "checks": {name: results[name].state for name in _FOR_ALL}}
    answer: dict[str, Any] = {
        "status": status, "checks": {name: result.state for name, result in results.items()},
        "findings": [{"check": name, "state": result.state, "detail": result.detail}
                     for name, result in results.items() if result.state is not State.OK],
        "policy_version": services.policy.current.version, "version": _VERSION,
        "written_seconds_ago": probe.age}
    with suppress(RowError), services.database.connected():
        if (error := trouble(call)) is not None:
            answer["policy_error"] = error
        lost_roles = lost(call.access.policy, User.held_roles(services.database))
        answer["users_without_role"] = User.number_with_roles(lost_roles)
        answer["jobs"] = backlog(services.database)._asdict()
        if "backups" in results:
            made_at, proved_at, *_ = ages()
            answer["backups"] = {"made_seconds_ago": _seconds_since(made_at),
                                 "proved_seconds_ago": _seconds_since(proved_at)}
    return answer


@routes.get("/api/health/live", public=_LIVE, answer=AliveSchema(), anonymous=True, cost=0)
def live(call: Call) -> dict[str, str]:
    """Answer 200, as long as the process answers at all."""
    return {"status": "ok"}


def _database(call: Call, result: CheckResult) -> CheckResult:
    database = call.services.database
    if (fault := database.damage or database.fault()) is not None:
        return CheckResult(State.DOWN, str(fault))
    if result.state is State.OK and (loss := database.loss()) is not None:
        return CheckResult(State.DEGRADED, loss)
    return result


def _other_checks(call: Call, *, silent: bool) -> dict[str, CheckResult]:
    """Returns all checks except for that of the database. If it is `silent`, those that query it are down."""
    services = call.services
    database, settings = services.database, services.settings
    stored: dict[str, Callable[[], CheckResult]] = {
        "migrations": lambda: checks.migrations(database, services.registry.migrations),
        "keys": lambda: checks.keys(database, services.keys, settings.secret_file),
        "clock": lambda: checks.clock(database),
        "jobs": lambda: checks.jobs(backlog(database)),
        **dict(cast(Registry, services.registry).features.checks(Installation(settings, database))),
    }
    return {"policy": _policy(call), "limits": _limits(call), "addresses": checks.addresses(services.addresses),
            "disk": _answer(lambda: checks.disk(settings)),
            **{name: UNKNOWN if silent else _answer(check) for name, check in stored.items()}}


def _answer(check: Callable[[], CheckResult]) -> CheckResult:
    try:
        return check()
    except (RowError, OSError):
        return UNKNOWN


def _policy(call: Call) -> CheckResult:
    # The errors themselves are in `policy_error`, redacted for the caller.
    if call.services.policy.status.outdated:
        return CheckResult(
            State.DEGRADED,
            "some rules are no longer accepted: gatepost policy check names file and line")
    if call.services.policy.trouble is None:
        if call.services.policy.drift is None:
            return CheckResult(State.OK, "the files are in force")
        return CheckResult(State.DEGRADED, "policy files were changed without effect: gatepost doctor names them")
    return CheckResult(State.DEGRADED, "the last good rules stay in force: gatepost policy check names file and line")


def _limits(call: Call) -> CheckResult:
    if call.services.limits.state == State.OK:
        return CheckResult(State.OK, "counted")
    return CheckResult(State.DEGRADED, "Redis does not answer: each process counts for itself until it does")


def _seconds_since(time: str | None) -> float | None:
    return None if time is None else elapsed(time, now())
