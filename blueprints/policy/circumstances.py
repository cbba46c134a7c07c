"""A hypothetical request: its permission and object; its time, address, device, method and scopes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from marshmallow import ValidationError, fields

from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import Fault, Problem, not_found
from gatepost.http.request.access import Access
from gatepost.http.request.call import Call, Peer
from gatepost.http.schemas.fields import Line, StrictSchema, length, one_of
from gatepost.http.schemas.parameters import ListParameter
from models.base import Rows
from policies.evaluation.principal import Environment, FixedEnvironment
from policies.syntax.addresses import LONGEST, normalized
from policies.syntax.attributes import ENVIRONMENT, REQUESTS
from policies.wording.suggestions import nearest

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)


class Moment(Line):
    """A time such as `2026-11-18T22:00`: in the zone of the settings unless it has an offset (RFC 3339)."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        text = super()._deserialize(value, attr, data, **kwargs)
        try:
            # The first and the last year are excluded, because converting the zone could leave the range.
            if _MOMENT.fullmatch(text) is None or not 1 < datetime.fromisoformat(text).year < 9999:
                raise ValueError
        except ValueError:
            raise ValidationError("This is not a time such as 2026-11-18T22:00, with or without an offset.") from None
        return text


class Address(Line):
    """An IPv4 or IPv6 address, loaded in its normalized form."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        address = normalized(super()._deserialize(value, attr, data, **kwargs))
        if address is None:
            raise ValidationError("This is not an IP address.")
        return address


class CircumstancesSchema(StrictSchema):
    """Circumstances of a hypothetical request. Omitted ones are those of the caller's own request."""

    at = Moment(maximum=40, metadata={
        "description": "At this time, such as 2026-11-18T22:00: in the zone of the settings unless it has an offset."})
    ip = Address(maximum=LONGEST, metadata={"description": "From this address."})
    device = fields.String(validate=one_of([*map(str, ENVIRONMENT["device"].values)]), metadata={
        "description": "With this kind of device."})
    method = fields.String(validate=one_of(list(REQUESTS)), metadata={
        "description": "By this method, instead of the one that the permission is asked for with."})
    scopes = ListParameter(Line(), data_key="scope", validate=length(1, 100), metadata={
        "description": "By a service token with these scopes, separated by commas."})


def environment(circumstances: Mapping[str, Any], method: str, zone: ZoneInfo, own: Environment | None = None
                ) -> FixedEnvironment:
    """Returns `r.env` of a hypothetical request with this method.

    circumstances     circumstances, loaded by `CircumstancesSchema`
    own       the caller's environment, for omitted circumstances; None: now, without an address, on a desktop
    """
    base = FixedEnvironment(ip=None) if own is None else FixedEnvironment(ip=own.ip, device=own.device)
    values = {name: circumstances[name] for name in ("ip", "device") if name in circumstances}
    at = datetime.fromisoformat(circumstances["at"]) if "at" in circumstances else datetime.now(zone)
    return replace(base.at(at, zone), **values, method=method, request=REQUESTS[method])


def fixed(circumstances: Mapping[str, Any], zone: ZoneInfo) -> dict[str, Any]:
    """Returns the attributes of `r.env` that the circumstances set; the others are open."""
    values = environment(circumstances, "GET", zone)
    names = [name for name in ("ip", "device") if name in circumstances]
    if "at" in circumstances:
        names += ["hour", "weekday", "date", "now"]
    return {name: getattr(values, name) for name in names}


def require_known(access: Access, permission: str) -> None:
    """Raises `Problem` (`invalid_parameter`) for an unknown permission."""
    permissions = access.policy.vocabulary.by_permission
    if permission not in permissions:
        near = nearest(permission, permissions)
        detail = Message("There is no such permission. Did you mean {near}?", near=near) if near else \
            Message("There is no such permission.")
        raise Problem.of([Fault("invalid_parameter", detail, parameter="permission")], "invalid_parameter")


def named_row(call: Call, collection: Peer | None, id: str) -> Any:
    """Returns the row. Raises `Problem` (`not_found`) if the caller may not see it."""
    values = None if collection is None else collection.visible(call, id)
    if collection is None or values is None:
        raise not_found()
    return Rows(collection.model, call.tenant_id).find(id)
