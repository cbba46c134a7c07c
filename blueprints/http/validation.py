"""Schemas applied to what came in; what is wrong becomes faults with a place each."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from flask import Request
from marshmallow import RAISE, Schema, ValidationError, missing
from marshmallow.fields import Field
from werkzeug.datastructures import MultiDict

from .errors import MOST_FAULTS, Fault, Problem
from .kept import Kept
from .language import PARAMETER
from .messages import Message
from .parameters import Tag
from .place import Place, split

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
        return _load(schema, writable, partial, fixed), read_only
    except ValidationError as error:
        faults = list(islice(_body_faults(error.messages_dict, ""), MOST_FAULTS))
        raise Problem.of(faults, "invalid_body") from None


def _load(schema: Schema, body: Mapping[str, Any], partial: bool, fixed: tuple[str, ...]) -> dict[str, Any]:
    """What `schema.load` gives and raises; a schema that says more than its fields is asked itself."""
    if schema.unknown != RAISE or any(schema._hooks.values()):
        loaded: dict[str, Any] = schema.load(body, partial=partial or fixed)
        return loaded
    loaded, refused = _by_field(schema.load_fields, body, schema.load_fields if partial else fixed, partial=partial)
    known = {field.data_key or name for name, field in schema.load_fields.items()}
    refused |= {name: [_UNKNOWN] for name in body if name not in known}
    if refused:
        raise ValidationError(refused)
    return loaded


def _by_field(fields: Mapping[str, Field[Any]], sent: Mapping[str, Any], optional: Container[str] = (),
              **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was sent, as each field understands it, and the messages of those that refuse, by the name that was sent.

    `optional` names fields that may be absent whatever they say. `schema.load` takes twice as long, and its time for
    each field that was not sent.
    """
    loaded, refused = {}, {}
    for name, field in fields.items():
        key = field.data_key or name
        value = sent.get(key, missing)
        if value is missing and (name in optional or (not field.required and field.load_default is missing)):
            continue
        try:
            loaded[field.attribute or name] = field.deserialize(value, key, sent, **options)
        except ValidationError as error:
            refused[key] = error.messages
    return loaded, refused


def load_query(schema: Schema | None, request: Request) -> Mapping[str, Any]:
    """The query string as the schema understands it; `lang` is known everywhere, other parameters to schemas alone.

    Read once per query string, whatever cursor is in it: the same is asked for again and again, page by page.
    """
    rest, name, cursor = split(request.query_string)
    if name is not None and (schema is None or not isinstance(schema.fields.get(name), Place)):
        rest, name = request.query_string, None  # no cursor is known here by that name
    loaded = _queries.get((schema, rest), lambda: _without(name, _query(schema, request.args)), text=rest)
    return loaded if name is None else loaded | {name: cursor}


_queries: Kept[MappingProxyType[str, Any]] = Kept()


def _without(name: str | None, loaded: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType({known: value for known, value in loaded.items() if known != name})


def _query(schema: Schema | None, arguments: MultiDict[str, str]) -> dict[str, Any]:
    faults = []
    fields = _EVERYWHERE if schema is None else _EVERYWHERE | schema.fields
    known = {field.data_key or name: field for name, field in fields.items()}
    for name, values in arguments.lists():
        if name not in known:
            shown = name.encode("utf-8", "replace").decode()[:80]
            faults.append(Fault("unknown_parameter", Message("There is no parameter {name!r} here.", name=shown),
                                parameter=shown))
        elif len(values) > 1:
            faults.append(Fault("invalid_parameter", "The parameter was sent more than once.", parameter=name))
    if faults:
        raise Problem.of(faults, "invalid_parameter")
    loaded, refused = _by_field(fields, arguments)
    if refused:
        faults = [fault for name, messages in refused.items() for fault in _query_faults(name, known[name], messages)]
        raise Problem.of(faults, "invalid_parameter")
    return loaded


def _body_faults(messages: Mapping[Any, Any], pointer: str) -> Iterator[Fault]:
    for name, problem in messages.items():
        here = pointer if name == "_schema" else f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"
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
