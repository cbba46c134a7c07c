"""Problem documents in the OpenAPI document: one shared answer for each status, to which operations refer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from marshmallow import fields

from ..protocol.problems import CATALOGUE
from ..request.endpoint import Endpoint
from ..schemas.fields import StrictSchema
from . import headers

PROBLEM_JSON = "application/problem+json"


class Answer(NamedTuple):
    """An answer that operations share: its component name and its description."""

    name: str
    description: str


ANSWERS: Mapping[int, Answer] = {
    400: Answer("BadRequest", "The request is not valid."),
    401: Answer("Unauthorized", "Credentials are missing or not valid."),
    403: Answer("Forbidden", "The policy does not allow this."),
    404: Answer("NotFound", "There is no such object, or it may not be seen."),
    409: Answer("Conflict", "The state does not allow this."),
    410: Answer("Gone", "It is no longer there."),
    412: Answer("PreconditionFailed", "The object has changed."),
    422: Answer("UnprocessableContent", "The Idempotency-Key was used for another body."),
    428: Answer("PreconditionRequired", "If-Match is required."),
}
# Problems of any operation: described once, because a client handles them in the same way everywhere.
OTHERWISE = Answer("Otherwise", "Any other problem: 406 and 415 for a media type, 413 and 414 for a body or URL that is"
                                " too long, 429 for too many requests, 500 and 503 where the service cannot answer.")


class FaultSchema(StrictSchema):
    """One thing that is wrong with a request."""

    code = fields.String(required=True)
    detail = fields.String(required=True)
    pointer = fields.String(metadata={"description": "Where in the body (RFC 6901)."})
    parameter = fields.String()
    header = fields.String()
    meta = fields.Dict(keys=fields.String(), metadata={"description": "Machine-readable values."})


class ReasonSchema(StrictSchema):
    """Why the policy refuses."""

    reason = fields.String(required=True, metadata={
        "description": "Why the policy refuses, in one sentence for people, in the language of the answer."})


class ProblemSchema(StrictSchema):
    """An error, always in this shape (RFC 9457)."""

    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    instance = fields.String(required=True)
    code = fields.String(required=True, metadata={"enum": list(CATALOGUE)})
    request_id = fields.String(required=True)
    errors = fields.List(fields.Nested(FaultSchema), required=True)
    meta = fields.Nested(ReasonSchema, metadata={
        "description": "Only of a 403 of the policy, where the setting `explain_refusals` is `self`."})


def components() -> Mapping[str, dict[str, Any]]:
    """Returns the shared answers by name."""
    return {answer.name: {"description": answer.description, "headers": headers.of_problems(status),
                          "content": {PROBLEM_JSON: {"schema": ProblemSchema}}}
            for status, answer in (*ANSWERS.items(), (None, OTHERWISE))}


def responses(endpoint: Endpoint) -> dict[int | str, list[str]]:
    """Returns the problem documents of an endpoint: status → name of the answer, in the form of flask-smorest."""
    implied = {
        400: True,
        401: not endpoint.anonymous,
        403: endpoint.permission is not None,
        404: endpoint.load is not None or "<" in endpoint.path,
        409: endpoint.writes or endpoint.deferred is not None,
        410: endpoint.deprecated is not None,
        # A read may send If-Match as well.
        412: endpoint.conditional or (endpoint.method == "GET" and endpoint.load is not None),
        422: endpoint.repeatable,
        428: endpoint.conditional,
    }
    statuses = [status for status, answered in implied.items() if answered or status in endpoint.problems]
    return {status: [ANSWERS[status].name] for status in statuses} | {"default": [OTHERWISE.name]}
