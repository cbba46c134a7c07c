"""The endpoints of AuthZEN 1.0, and the metadata with their URLs."""

from __future__ import annotations

from typing import Any

from gatepost import Call, Fault, Problem, Routes
from gatepost.http.protocol.json_body import JSON
from gatepost.http.protocol.problems import not_found
from gatepost.http.request.urls import url_of
from gatepost.http.schemas import validation

from . import search
from .questions import Known, Question
from .schemas import (
    DENY,
    MEDIA_TYPES,
    PERMIT,
    ActionSearchSchema,
    Asked,
    ConfigurationSchema,
    DecisionSchema,
    DecisionsSchema,
    EvaluationSchema,
    EvaluationsSchema,
    FoundSchema,
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
    return {"decision": _decided(call, dict(call.body))}


@routes.post("/access/v1/evaluations", permission="policy.evaluate", body=EvaluationsSchema(),
             answer=DecisionsSchema(), writes=False, accepts=MEDIA_TYPES, prepare=_require_json, cost=10)
def evaluations(call: Call) -> dict[str, Any]:
    """Say of several questions at once whether a subject may do an action on a resource."""
    shared = {name: call.body[name] for name in _INHERITED if name in call.body}
    if not call.body["evaluations"]:
        return {"decision": _decided(call, _loaded(shared))}
    several = [_whole({**shared, **one}) for one in call.body["evaluations"]]
    known = Known(call)
    known.read(one["resource"] for one in several if not isinstance(one, Problem))
    decisions, semantic = list[dict[str, Any]](), call.body["options"]["evaluations_semantic"]
    for one in several:
        decisions.append(_one_of_several(call, one, known))
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


def _loaded(asked: Asked) -> Asked:
    """Validates one of several evaluations with its inherited members. Raises `Problem` for an incomplete one."""
    loaded, _ = validation.load_body(_EVALUATION, asked)
    return loaded


def _whole(asked: Asked) -> Asked | Problem:
    try:
        return _loaded(asked)
    except Problem as problem:
        return problem


def _one_of_several(call: Call, asked: Asked | Problem, known: Known) -> dict[str, Any]:
    """Returns the answer of one of several evaluations. An error becomes its answer, so that the others go on."""
    try:
        if isinstance(asked, Problem):
            raise asked
        return {"decision": _decided(call, asked, known)}
    except Problem as problem:
        message = call.services.translations.wanted(call.request).say(problem.detail)
        return {"decision": False, "context": {"error": {"status": problem.status, "message": message}}}


def _decided(call: Call, asked: Asked, known: Known | None = None) -> bool:
    known = known or Known(call)
    question = Question(call, asked["resource"]["type"], asked["action"]["name"], asked.get("context", {}), known)
    return question.permits(known.subject(asked["subject"]), asked["resource"])
