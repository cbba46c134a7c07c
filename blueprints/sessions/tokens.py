"""Service tokens: long-lived credentials of programs that act for a user, limited by scopes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from marshmallow import fields

from gatepost import (
    Call,
    Collection,
    Endpoint,
    Fault,
    Id,
    Int,
    Line,
    Many,
    Message,
    Name,
    Problem,
    StrictSchema,
    Time,
    later,
)
from gatepost.http.credentials import step_up
from gatepost.http.request.identity import service_token
from gatepost.http.writing.rules_in_code import PASSWORD, RuleInCode
from models.base import DAY
from models.tables.service_token import LASTS, ServiceToken

_SHORTEST = 60  # seconds


class ServiceTokenSchema(StrictSchema):
    """A service token. The `token` itself is answered only when it is created."""

    id = Id(dump_only=True)
    name = Name(required=True, metadata={"example": "Copy of the users"})
    scopes = Many(Line(), required=True, maximum=100, metadata={
        "example": ["read:users"], "names_of": "scopes"})
    expires_in = Int(minimum=_SHORTEST, load_only=True, metadata={
        "description": "Seconds; 90 days unless given, at most the setting token_max_days."})
    expires_at = Time(dump_only=True, allow_none=True)
    last_used_at = Time(dump_only=True, allow_none=True)
    token = fields.String(dump_only=True, metadata={"sometimes": "when it is made"})
    current_password = step_up.CurrentPassword(about="make a token")


class Tokens(Collection):
    """Credentials of programs."""

    name, resource = "tokens", "token"
    model, schema = ServiceToken, ServiceTokenSchema
    most_owned = 100
    on_erase = "delete"
    shares = False
    filters = {"owner_id": ("eq",)}
    overview = ("scopes", "expires_at", "last_used_at")

    def endpoints(self) -> Iterator[Endpoint]:
        for endpoint in super().endpoints():
            if endpoint.name == "create":
                yield replace(endpoint, secret=True, prepare=step_up.confirm)
            elif endpoint.name in ("list", "delete"):
                yield endpoint

    def draft(self, call: Call) -> ServiceToken:
        row: ServiceToken = super().draft(call)
        faults = [Fault("unknown_scope", Message("There is no scope {scope!r}.", scope=scope[:80]),
                        pointer=f"/scopes/{index}")
                  for index, scope in enumerate(row.scopes) if scope not in call.access.policy.scope_names]
        most = call.services.settings.token_max_days * DAY
        lasts = call.body.get("expires_in", min(LASTS, most))
        if lasts > most:
            faults.append(Fault("invalid_field", Message("Must be at most {most}.", most=most), pointer="/expires_in",
                                meta={"min": _SHORTEST, "max": most}))
        if faults:
            raise Problem.of(faults, "invalid_body")
        row.expires_at = later(lasts)
        return row

    def rules_in_code(self, call: Call, verb: str, row: ServiceToken | None) -> Iterator[RuleInCode]:
        yield from super().rules_in_code(call, verb, row)
        if verb == "create":
            yield RuleInCode(PASSWORD, Message("a new token needs the current password, or a login within ten minutes"),
                             step_up.missing(), sent=True)

    def create(self, call: Call, row: ServiceToken) -> None:
        step_up.require(call)
        row.id, row.token_hash, text = service_token()
        super().create(call, row)
        row.__data__["token"] = text
