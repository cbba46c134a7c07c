"""The endpoints of AuthZEN 1.0, and the metadata with their URLs."""

from __future__ import annotations

from typing import Any

from gatepost import Call, Fault, Problem, Routes
from gatepost.http.protocol.json_body import JSON
from gatepost.http.protocol.problems import not_found
from gatepost.http.request.urls import url_of
from gatepost.http.schemas import validation

from . import search
from .questions import Cache
from .schemas import (
    DENY,
    MEDIA_TYPES,
    PERMIT,
    ActionSearchSchema,
    ConfigurationSchema,
    DecisionSchema,
    DecisionsSchema,
    EvaluationSchema,
    EvaluationsSchema,
    FoundSchema,
    JsonObject,
    ResourceSearchSchema,
    SubjectSearchSchema,
)

_PUBLIC = "it says where the endpoints are, and nothing else"
_PATHS = {"policy_decision_point": "",
          "access_evaluation_endpoint": "/access/v1/evaluation",
          "access_evaluations_endpoint": "/access/v1/evaluations",
          "search_subject_endpoint": "/access/v1/search/subject",
          "search_resource_endpoint": "/access/v1/search/resource",
          "search_action_endpoint": "/access/v1/search/action"}
_INHERITED = ("subject", "action", "resource", "context")
_EVALUATION = EvaluationSchema()

routes = Routes("authzen", "The rules asked by other programs, as AuthZEN 1.0 says.")


def _require_json(call: Call) -> None:
    """Raises `Problem` (400) for a body of another type, as AuthZEN requires."""
    if call.request.mimetype not in JSON:
        fault = Fault("invalid_header", "Send the body as application/json.", header="Content-Type")
        raise Problem.of([fault], "invalid_header")


@routes.post("/access/v1/evaluation", permission="policy.evaluate", body=EvaluationSchema(), answer=DecisionSchema(),
             writes=False, accepts=MEDIA_TYPES, prepare=_require_json)
def evaluation(call: Call) -> dict[str, Any]:
    """Say whether a subject may do an action on a resource."""
    return {"decision": _decide(call, dict(call.body))}


@routes.post("/access/v1/evaluations", permission="policy.evaluate", body=EvaluationsSchema(),
             answer=DecisionsSchema(), writes=False, accepts=MEDIA_TYPES, prepare=_require_json, cost=10)
def evaluations(call: Call) -> dict[str, Any]:
    """Say of several questions at once whether a subject may do an action on a resource."""
    shared = {name: call.body[name] for name in _INHERITED if name in call.body}
    if not call.body["evaluations"]:
        return {"decision": _decide(call, _load({}, shared))}
    entries = [_load_or_problem(entry, shared) for entry in call.body["evaluations"]]
    cache = Cache(call)
    cache.read(entry["resource"] for entry in entries if not isinstance(entry, Problem))
    decisions, semantic = list[dict[str, Any]](), call.body["options"]["evaluations_semantic"]
    for entry in entries:
        decisions.append(_one_of_several(call, entry, cache))
        if (semantic, decisions[-1]["decision"]) in ((DENY, False), (PERMIT, True)):
            break
    return {"evaluations": decisions}


@routes.post("/access/v1/search/subject", permission="policy.evaluate", body=SubjectSearchSchema(),
             answer=FoundSchema(), writes=False, accepts=MEDIA_TYPES, prepare=_require_json, cost=5)
def subject_search(call: Call) -> dict[str, Any]:
    """List the subjects of a type that may do an action on a resource."""
    return search.subjects(call, dict(call.body))


@routes.post("/access/v1/search/resource", permission="policy.evaluate", body=ResourceSearchSchema(),
             answer=FoundSchema(), writes=False, accepts=MEDIA_TYPES, prepare=_require_json, cost=5)
def resource_search(call: Call) -> dict[str, Any]:
    """List the resources of a type on which a subject may do an action."""
    return search.resources(call, dict(call.body))


@routes.post("/access/v1/search/action", permission="policy.evaluate", body=ActionSearchSchema(),
             answer=FoundSchema(), writes=False, accepts=MEDIA_TYPES, prepare=_require_json, cost=5)
def action_search(call: Call) -> dict[str, Any]:
    """List the actions that a subject may do on a resource."""
    return search.actions(call, dict(call.body))


@routes.get("/.well-known/authzen-configuration", public=_PUBLIC, answer=ConfigurationSchema(), problems=(404,),
            offline=True)
def configuration(call: Call) -> dict[str, Any]:
    """Say where the endpoints of AuthZEN are; 404 without the setting `public_url`."""
    settings = call.services.settings
    if not settings.public_url:
        raise not_found()
    return {name: url_of(settings, call.request, path) for name, path in _PATHS.items()}


def _load(entry: JsonObject, inherited: JsonObject) -> JsonObject:
    """Validates one of several evaluations; inherited members are valid. Raises `Problem` for an incomplete one."""
    loaded, _ = validation.load_body(_EVALUATION, entry, kept=tuple(inherited))
    return {**inherited, **loaded}


def _load_or_problem(entry: JsonObject, inherited: JsonObject) -> JsonObject | Problem:
    try:
        return _load(entry, inherited)
    except Problem as problem:
        return problem


def _one_of_several(call: Call, entry: JsonObject | Problem, cache: Cache) -> dict[str, Any]:
    """Returns the answer of one of several evaluations. An error becomes its answer, so that the others go on."""
    try:
        if isinstance(entry, Problem):
            raise entry
        return {"decision": _decide(call, entry, cache)}
    except Problem as problem:
        message = call.services.translations.wanted(call.request).say(problem.detail)
        return {"decision": False, "context": {"error": {"status": problem.status, "message": message}}}


def _decide(call: Call, entry: JsonObject, cache: Cache | None = None) -> bool:
    cache = cache or Cache(call)
    question = cache.question(entry["resource"]["type"], entry["action"]["name"], entry.get("context", {}))
    return question.permits(cache.subject(entry["subject"]), entry["resource"])
