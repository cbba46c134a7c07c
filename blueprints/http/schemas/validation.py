"""Schemas applied to what came in; what is wrong becomes faults with a place each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from flask import Request
from marshmallow import Schema, ValidationError, missing
from marshmallow.fields import Field
from werkzeug.datastructures import MultiDict

from ..protocol.json_pointer import below
from ..protocol.language import PARAMETER
from ..protocol.messages import Message
from ..protocol.problems import MOST_FAULTS, Fault, Problem
from .bounded_cache import BoundedCache
from .cursor_parameter import Place, split
from .parameters import Tag

_MISSING = "Missing data for required field."
_UNKNOWN = "Unknown field."
_EVERYWHERE: dict[str, Field[Any]] = {PARAMETER: Tag()}  # parameters of every endpoint


def load_body(schema: Schema, body: Mapping[str, Any], *, partial: bool = False,
              fixed: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body as the schema understands it, and the read-only fields that came with it, as sent.

    `fixed` names fields that are read-only here though the schema could load them. Whether a read-only field may be
    there is for the handler to say: equal to the stored row it is harmless.
    Raises `Problem` with its faults together, at most `MOST_FAULTS`: `missing_field`, `unknown_field`, `invalid_field`.
    """
    read_only = {name: value for name, value in body.items()
                 if name in fixed or (name in schema.dump_fields and name not in schema.load_fields)}
    writable = {name: value for name, value in body.items() if name not in read_only}
    try:
        return schema.load(writable, partial=partial or fixed), read_only
    except ValidationError as error:
        faults = list(islice(_body_faults(error.messages_dict, ""), MOST_FAULTS))
        raise Problem.of(faults, "invalid_body") from None


def load_query(schema: Schema | None, request: Request) -> Mapping[str, Any]:
    """The query string as the schema understands it; `lang` is known everywhere, other parameters to schemas alone.

    Read once per query string, whatever cursor is in it: the same is asked for again and again, page by page.
    """
    rest, name, cursor = split(request.query_string)
    if name is not None and (schema is None or not isinstance(schema.fields.get(name), Place)):
        rest, name = request.query_string, None  # no cursor is known here by that name
    loaded = _queries.get((schema, rest), lambda: _without(name, _query(schema, request.args)), text=rest)
    return loaded if name is None else loaded | {name: cursor}


_queries: BoundedCache[MappingProxyType[str, Any]] = BoundedCache()


def _without(name: str | None, loaded: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType({known: value for known, value in loaded.items() if known != name})


def _query(schema: Schema | None, arguments: MultiDict[str, str]) -> dict[str, Any]:
    faults = []
    fields = _EVERYWHERE if schema is None else _EVERYWHERE | schema.fields
    known = {field.data_key or name for name, field in fields.items()}
    for name, values in arguments.lists():
        if name not in known:
            shown = name.encode("utf-8", "replace").decode()[:80]
            faults.append(Fault("unknown_parameter", Message("There is no parameter {name!r} here.", name=shown),
                                parameter=shown))
        elif len(values) > 1:
            faults.append(Fault("invalid_parameter", "The parameter was sent more than once.", parameter=name))
    if faults:
        raise Problem.of(faults, "invalid_parameter")
    # Field by field, not `schema.load`, which takes its time for each field that was not sent.
    loaded: dict[str, Any] = {}
    for name, field in fields.items():
        sent = arguments.get(field.data_key or name, missing)
        if sent is missing and not field.required and field.load_default is missing:
            continue
        try:
            loaded[name] = field.deserialize(sent, name, arguments)
        except ValidationError as error:
            faults += _query_faults(field.data_key or name, field, error.messages)
    if faults:
        raise Problem.of(faults, "invalid_parameter")
    return loaded


def _body_faults(messages: Mapping[Any, Any], pointer: str) -> Iterator[Fault]:
    for name, problem in messages.items():
        here = pointer if name == "_schema" else below(pointer, str(name))
        if isinstance(problem, Mapping):
            yield from _body_faults(problem, here)
            continue
        for message in problem if isinstance(problem, list) else [problem]:
            code = {_MISSING: "missing_field", _UNKNOWN: "unknown_field"}.get(message, "invalid_field")
            yield Fault(code, message, pointer=here)


def _query_faults(name: str, field: Field[Any], problem: Any) -> list[Fault]:
    bounds = {key: value for check in field.validators
              for key, value in (("min", getattr(check, "min", None)), ("max", getattr(check, "max", None)))
              if value is not None}
    return [Fault("invalid_parameter", text, parameter=name, meta=bounds or None) for text in _flatten(problem)]


def _flatten(problem: Any) -> list[str]:
    if isinstance(problem, Mapping):
        return [text for inner in problem.values() for text in _flatten(inner)]
    return list(problem) if isinstance(problem, list) else [problem]
