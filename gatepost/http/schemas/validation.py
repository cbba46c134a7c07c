"""Validation of input by schemas. Each error becomes a fault with its place.

A query string is loaded once for all values of its `ApartParameter`, for example once for all pages of a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from flask import Request
from marshmallow import RAISE, Schema, ValidationError, fields
from marshmallow import missing as not_sent
from marshmallow.fields import Field
from webargs.fields import DelimitedList
from werkzeug.datastructures import MultiDict

from gatepost.http.protocol.json_pointer import below
from gatepost.http.protocol.language import PARAMETER
from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import MOST_FAULTS, Fault, Problem
from gatepost.http.schemas.fields import with_read_ids
from gatepost.http.schemas.parameters import ListParameter, Tag
from policies.wording.suggestions import nearest

T = TypeVar("T")

_LONGEST = 1024  # bytes of a client's text in a key; the loaded values take many times as much


class BoundedCache(Generic[T]):
    """Cache of at most `most` values. A full cache is emptied: a client who varies requests costs time, not memory."""

    __slots__ = ("_most", "_values")

    def __init__(self, most: int = 512) -> None:
        self._values: dict[Hashable, T] = {}
        self._most = most

    def get(self, key: Hashable, make: Callable[[], T], *, text: bytes = b"") -> T:
        """Returns the value of `key`, which `make` makes if there is none.

        An exception is not kept, and neither is the value of a long `text` of the client.
        """
        if len(text) > _LONGEST:
            return make()
        value = self._values.get(key)
        if value is None:
            value = make()
            if len(self._values) >= self._most:
                self._values.clear()
            self._values[key] = value
        return value


class ApartParameter(fields.String):
    """A parameter whose value does not affect the others, such as the cursor of a list.

    Its text is not checked. Requests that differ only in its value share one `LoadedQuery`.
    """


@lru_cache(maxsize=512)
def _splitting(schema: Schema | None) -> tuple[re.Pattern[bytes], re.Pattern[bytes]] | None:
    """Returns two patterns for a query string: one finds an apart parameter of the schema; the other finds in the rest
    a second one, or an escaped name that may be one."""
    names = b"|".join(re.escape(name.encode()) for name, field in ({} if schema is None else schema.fields).items()
                      if isinstance(field, ApartParameter))
    if not names:
        return None
    return (re.compile(rb"(?:\A|&)(%b)=([\w.-]+)(?![^&])" % names),
            re.compile(rb"(?:\A|&)(?:(?:%b)(?![^=&])|[^=&]*%%)" % names))


def split(schema: Schema | None, query: bytes) -> tuple[bytes, str | None, str]:
    """Returns the query string without its apart parameter, the name of that parameter, and its text.

    Returns the whole query string, None and an empty text if there is no such parameter or there are several, and if
    its text or any name has an escape. Refuses nothing.
    """
    if (patterns := _splitting(schema)) is None or (match := patterns[0].search(query)) is None:
        return query, None, ""
    rest = query[:match.start()] + query[match.end():]
    if patterns[1].search(rest) is not None:
        return query, None, ""
    return rest, match[1].decode(), match[2].decode()


_MOST_DERIVED = 64  # derived values of one query, by tenant, page size and parameter


class LoadedQuery(Mapping[str, Any]):
    """Loaded parameters by name. It never changes, because requests that differ only in an apart parameter share it.

    sent  (name, text) of each parameter as the client wrote it, without the apart parameter
    """

    __slots__ = ("_apart", "_derived", "_values", "sent")

    def __init__(self, values: Mapping[str, Any] = MappingProxyType({}),
                 sent: Sequence[tuple[str, str]] = ()) -> None:
        self._values, self.sent = values, sent
        self._apart: str | None = None
        self._derived: BoundedCache[Any] = BoundedCache(_MOST_DERIVED)

    def with_apart(self, name: str, text: str) -> LoadedQuery:
        """Returns a copy of the query with an apart parameter. Both share their derived values."""
        query = LoadedQuery.__new__(LoadedQuery)
        query._values, query.sent = {**self._values, name: text}, self.sent
        query._apart, query._derived = name, self._derived
        return query

    def derive(self, key: tuple[Hashable, ...], make: Callable[[], T]) -> T:
        """Returns the value that `make` derives from these parameters. Calls `make` once for each `key`.

        The value may depend on the name of the apart parameter, but not on its value.
        """
        derived: T = self._derived.get((self._apart, key), make)
        return derived

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


NO_PARAMETERS = LoadedQuery()


MISSING = "Missing data for required field."
_UNKNOWN = "Unknown field."
_LANGUAGE = Tag()  # a parameter of every endpoint
_NUMBER = re.compile(r"-?[0-9]+")
_SUGGESTIONS = 3  # suggestions for one request: searching for one takes half as long as a list


def load_body(schema: Schema, body: Mapping[str, Any], *, partial: bool = False,
              fixed: tuple[str, ...] = (), kept: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the loaded body, and the read-only fields that were sent with it, with normalized ids.

    fixed  fields that this endpoint cannot change, although the schema could load them
    kept   required fields that may be absent
    The handler decides about read-only fields: one that equals the stored value is harmless.
    Raises `Problem` with all faults, at most `MOST_FAULTS`: `missing_field`, `unknown_field`, `invalid_field`.
    """
    read_only = {name: with_read_ids(schema.fields[name], value) for name, value in body.items()
                 if name in fixed or (name in schema.dump_fields and name not in schema.load_fields)}
    writable = {name: value for name, value in body.items() if name not in read_only}
    if schema.unknown == RAISE and len(writable) > len(schema.fields) + MOST_FAULTS:
        # There may be a hundred thousand unknown names. Marshmallow would note each of them.
        names = {field.data_key or name for name, field in schema.load_fields.items()}
        unknown = islice((name for name in writable if name not in names), MOST_FAULTS)
        faults = [Fault("unknown_field", _UNKNOWN, pointer=below("", name)) for name in unknown]
        raise Problem.of(faults, "invalid_body")
    try:
        return schema.load(writable, partial=partial or fixed + kept), read_only
    except ValidationError as error:
        faults = list(islice(_body_faults(error.messages_dict, ""), MOST_FAULTS))
        raise Problem.of(faults, "invalid_body") from None


def load_query(schema: Schema | None, request: Request,
               granted: Callable[[str], bool] = lambda permission: False) -> LoadedQuery:
    """Returns the loaded query string. Every endpoint accepts `lang`; all other parameters are in its schema.

    A list (`fields`, `expand`, `…__in`) that was sent several times is one list.
    granted  True if the caller has a permission on some object. A parameter with `metadata={"guard": permission}` is
             suggested only then.

    A query string is loaded once for all values of its apart parameter. So hooks of the schema (`@validates`,
    `@validates_schema`, `@post_load`) must depend on nothing except the parameters.
    Raises `Problem` with all faults: `unknown_parameter`, `invalid_parameter`.
    """
    if schema is None and not request.query_string:
        return NO_PARAMETERS
    rest, name, text = split(schema, request.query_string)
    query = _queries.get((schema, rest), lambda: _query(schema, request.args, name, granted), text=rest)
    return query if name is None else query.with_apart(name, text)


_queries: BoundedCache[LoadedQuery] = BoundedCache()


def _query(schema: Schema | None, arguments: MultiDict[str, str], apart: str | None,
           granted: Callable[[str], bool]) -> LoadedQuery:
    """Loads the arguments, except the parameter `apart`."""
    fields = {} if schema is None else {field.data_key or name: field for name, field in schema.fields.items()}
    faults, sent, parts = list[Fault](), dict[str, str](), dict[str, list[str]]()
    for name, values in arguments.lists():
        if name not in fields and name != PARAMETER:
            printable = name.encode("utf-8", "replace").decode()[:80]
            suggestion = _nearest(printable, fields, granted) if len(faults) < _SUGGESTIONS else ""
            faults.append(Fault("unknown_parameter", _no_parameter(printable, suggestion), parameter=printable))
        elif len(values) > 1 and isinstance(fields.get(name), DelimitedList):
            sent[name] = ",".join(values)
            if isinstance(fields[name], ListParameter):
                parts[name] = values  # separate, because a quote must end in the part in which it begins
        elif len(values) > 1:
            faults.append(Fault("invalid_parameter", "The parameter was sent more than once.", parameter=name))
        elif name != apart:
            sent[name] = values[0]
    if faults:
        raise Problem.of(faults, "invalid_parameter")
    pairs = tuple(sent.items())
    loaded: dict[str, Any] = {}
    if PARAMETER in sent and PARAMETER not in fields:
        try:
            loaded[PARAMETER] = _LANGUAGE.deserialize(sent.pop(PARAMETER))
        except ValidationError as error:
            faults += _query_faults(PARAMETER, _LANGUAGE, error.messages)
    if schema is not None:
        # Marshmallow is slow for absent fields, unless they are named in `partial`.
        absent = [name for name, field in schema.fields.items()
                  if not field.required and field.load_default is not_sent]
        try:
            loaded |= schema.load(sent | parts, partial=frozenset(absent))
        except ValidationError as error:
            for name, problem in error.messages_dict.items():
                faults += _query_faults(name, fields.get(name), problem)
    if faults:
        raise Problem.of(faults, "invalid_parameter")
    return LoadedQuery(loaded, pairs)


def _nearest(name: str, fields: Mapping[str, Field[Any]], granted: Callable[[str], bool]) -> str:
    """Returns the most similar parameter, among those whose field the caller may see on some object."""
    return nearest(name, (PARAMETER, *(parameter for parameter, field in fields.items()
                                       if "guard" not in field.metadata or granted(field.metadata["guard"]))))


def _no_parameter(name: str, suggestion: str) -> Message:
    if not suggestion:
        return Message("There is no parameter {name!r} here.", name=name)
    return Message("There is no parameter {name!r} here; did you mean {meant}?", name=name, meant=suggestion)


def _body_faults(messages: Mapping[Any, Any], pointer: str) -> Iterator[Fault]:
    for name, problem in messages.items():
        place = pointer if name == "_schema" else below(pointer, str(name))
        if isinstance(problem, Mapping):
            yield from _body_faults(problem, place)
            continue
        for message in problem if isinstance(problem, list) else [problem]:
            code = {MISSING: "missing_field", _UNKNOWN: "unknown_field"}.get(message, "invalid_field")
            yield Fault(code, message, pointer=place)


def _query_faults(name: str, field: Field[Any] | None, problem: Any) -> list[Fault]:
    """Returns the faults of one parameter. `field` is None if the error concerns the whole query.

    `meta` of a fault has the bounds that its text names.
    """
    if field is None:
        return [Fault("invalid_parameter", text) for text in _flatten(problem)]
    bounds = [(key, value) for check in field.validators for key in ("min", "max")
              if (value := getattr(check, key, None)) is not None]
    faults = []
    for text in _flatten(problem):
        numbers = set(_NUMBER.findall(text))
        meta = {key: value for key, value in bounds if str(value) in numbers}
        faults.append(Fault("invalid_parameter", text, parameter=name, meta=meta or None))
    return faults


def _flatten(problem: Any) -> list[str]:
    if isinstance(problem, Mapping):
        return [text for inner in problem.values() for text in _flatten(inner)]
    return list(problem) if isinstance(problem, list) else [problem]
