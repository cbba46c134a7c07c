"""Service tokens: long-lived credentials of a program that acts for a user, narrowed by scopes."""

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
from models.tables.service_token import ServiceToken

from .http.request.identity import service_token

_TEN_YEARS = 10 * 365 * 24 * 60 * 60


class ServiceTokenSchema(StrictSchema):
    """A service token. The `token` itself is answered once, when it is made."""

    id = Id(dump_only=True)
    name = Name(required=True)
    scopes = Many(Line(), required=True, maximum=100)
    expires_in = Int(minimum=60, maximum=_TEN_YEARS, load_only=True, metadata={"description": "Seconds."})
    expires_at = Time(dump_only=True, allow_none=True)
    last_used_at = Time(dump_only=True, allow_none=True)
    token = fields.String(dump_only=True)


class Tokens(Collection):
    """Credentials of programs."""

    name, resource = "tokens", "token"
    model, schema = ServiceToken, ServiceTokenSchema
    most_owned = 100
    shares = False

    def endpoints(self) -> Iterator[Endpoint]:
        for endpoint in super().endpoints():
            if endpoint.name in ("list", "create", "delete"):
                yield replace(endpoint, secret=endpoint.name == "create")

    def draft(self, call: Call) -> ServiceToken:
        row: ServiceToken = super().draft(call)
        faults = [Fault("unknown_scope", Message("There is no scope {scope!r}.", scope=scope[:80]),
                        pointer=f"/scopes/{index}")
                  for index, scope in enumerate(row.scopes) if scope not in call.access.policy.scope_names]
        if faults:
            raise Problem.of(faults, "invalid_body")
        if "expires_in" in call.body:
            row.expires_at = later(call.body["expires_in"])
        return row

    def create(self, call: Call, row: ServiceToken) -> None:
        row.id, row.token_hash, text = service_token()
        super().create(call, row)
        row.__data__["token"] = text
