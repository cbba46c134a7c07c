"""The information model of AuthZEN 1.0. Unknown members are ignored."""

from __future__ import annotations

from typing import Any

from marshmallow import EXCLUDE, fields

from gatepost import Int, StrictSchema, Text
from gatepost.http.protocol.json_body import ANY, JSON
from gatepost.http.schemas.documented import example_id
from gatepost.http.schemas.fields import IdText, Many, one_of

MOST = 100  # evaluations of one request; each may need one or two statements
_LONGEST = 1_000  # characters of an id
EXECUTE_ALL, DENY, PERMIT = "execute_all", "deny_on_first_deny", "permit_on_first_permit"


class OpenSchema(StrictSchema):
    """A schema that ignores unknown members."""

    class Meta:
        unknown = EXCLUDE


def _properties() -> fields.Dict:
    return fields.Dict(keys=fields.String(), load_default=dict)


class KindSchema(OpenSchema):
    """The type of a search; an id is ignored."""

    type = Text(required=True, maximum=_LONGEST, minimum=1)
    properties = _properties()


class SubjectSchema(KindSchema):
    """`user` (an id, or `guest`), `role`, or `service` (the id of a service token)."""

    type = Text(required=True, maximum=_LONGEST, minimum=1, metadata={"example": "user"})
    id = IdText(required=True, maximum=_LONGEST, metadata={"example": example_id("users")})


class ResourceSchema(KindSchema):
    """The name of a resource, such as `user`. The id "" means any object that there could be."""

    type = Text(required=True, maximum=_LONGEST, minimum=1, metadata={"example": "user"})
    id = IdText(required=True, maximum=_LONGEST, metadata={"example": example_id("users")})


class ActionSchema(OpenSchema):
    """A verb of the resource: `update`."""

    name = Text(required=True, maximum=_LONGEST, minimum=1, metadata={"example": "update"})
    properties = _properties()


class SearchPageSchema(OpenSchema):
    token = Text(maximum=8_192)
    limit = Int(minimum=1)
    properties = _properties()


def _context() -> fields.Dict:
    return fields.Dict(keys=fields.String(), metadata={
        "description": "`time` (RFC 3339), `ip`, `device` and `method` count; without them it is now, and as for the "
                       "caller's own request."})


class EvaluationSchema(OpenSchema):
    subject = fields.Nested(SubjectSchema, required=True)
    action = fields.Nested(ActionSchema, required=True)
    resource = fields.Nested(ResourceSchema, required=True)
    context = _context()


class OptionsSchema(OpenSchema):
    evaluations_semantic = fields.String(validate=one_of([EXECUTE_ALL, DENY, PERMIT]), load_default=EXECUTE_ALL)


class EvaluationsSchema(OpenSchema):
    """Several evaluations. The other members are defaults of each; without `evaluations` they are one evaluation."""

    subject = fields.Nested(SubjectSchema)
    action = fields.Nested(ActionSchema)
    resource = fields.Nested(ResourceSchema)
    context = _context()
    evaluations = Many(fields.Dict(), maximum=MOST, load_default=list, metadata={"example": [
        {"subject": {"type": "user", "id": example_id("users")}, "action": {"name": name},
         "resource": {"type": "user", "id": example_id("users")}} for name in ("view", "update")]})
    options = fields.Nested(OptionsSchema, load_default=lambda: {"evaluations_semantic": EXECUTE_ALL})


class SubjectSearchSchema(EvaluationSchema):
    subject = fields.Nested(KindSchema, required=True, metadata={"example": {"type": "user"}})
    page = fields.Nested(SearchPageSchema, load_default=dict)


class ResourceSearchSchema(EvaluationSchema):
    resource = fields.Nested(KindSchema, required=True, metadata={"example": {"type": "user"}})
    page = fields.Nested(SearchPageSchema, load_default=dict)


class ActionSearchSchema(OpenSchema):
    subject = fields.Nested(SubjectSchema, required=True)
    resource = fields.Nested(ResourceSchema, required=True)
    context = _context()
    page = fields.Nested(SearchPageSchema, load_default=dict)


class DecisionSchema(StrictSchema):
    decision = fields.Boolean(required=True)
    context = fields.Dict(metadata={
        "description": "`error`, with `status` and `message`: this one of several is not whole."})


class DecisionsSchema(StrictSchema):
    """`evaluations`, in the order in which they were asked; or one `decision`."""

    decision = fields.Boolean()
    evaluations = fields.List(fields.Nested(DecisionSchema))


class FoundPageSchema(StrictSchema):
    next_token = fields.String(required=True, metadata={"description": "Empty: there is no more."})
    count = fields.Integer(required=True)


class FoundSchema(StrictSchema):
    """The results of a search: `{type, id}` of subjects and resources, `{name}` of actions."""

    page = fields.Nested(FoundPageSchema, required=True)
    results = fields.List(fields.Dict(), required=True)


class ConfigurationSchema(StrictSchema):
    policy_decision_point = fields.String(required=True)
    access_evaluation_endpoint = fields.String(required=True)
    access_evaluations_endpoint = fields.String(required=True)
    search_subject_endpoint = fields.String(required=True)
    search_resource_endpoint = fields.String(required=True)
    search_action_endpoint = fields.String(required=True)


JsonObject = dict[str, Any]
MEDIA_TYPES = (*JSON, ANY)  # AuthZEN answers another type with 400, not 415
