"""Validation of input by schemas. Each error becomes a fault with its place.

A query string is loaded once for all values of its `ApartParameter`, such as for all pages of a list.
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

    __slots__ = ("_found", "_most")

    def __init__(self, most: int = 512) -> None:
        self._found: dict[Hashable, T] = {}
        self._most = most

    def get(self, key: Hashable, make: Callable[[], T], *, text: bytes = b"") -> T:
        """Returns the value of `key`, which `make` makes if there is none.

        An exception is not kept, and neither is the value of a long `text` of the client.
        """
        if len(text) > _LONGEST:
            return make()
        found = self._found.get(key)
        if found is None:
            found = make()
            if len(self._found) >= self._most:
                self._found.clear()
            self._found[key] = found
        return found


class ApartParameter(fields.String):
    """A parameter whose value changes nothing about what the others mean, such as the place of a page in a list.

    Any text is taken as it is. Requests that differ in its value alone share what was loaded.
    """


@lru_cache(maxsize=512)
def _splitting(schema: Schema | None) -> tuple[re.Pattern[bytes], re.Pattern[bytes]] | None:
    """Finds one apart parameter of a schema in a query string; then finds another one in the rest, or a name that may
    be one, escaped."""
    names = b"|".join(re.escape(name.encode()) for name, field in ({} if schema is None else schema.fields).items()
                      if isinstance(field, ApartParameter))
    if not names:
        return None
    return (re.compile(rb"(?:\A|&)(%b)=([\w.-]+)(?![^&])" % names),
            re.compile(rb"(?:\A|&)(?:(?:%b)(?![^=&])|[^=&]*%%)" % names))


def split(schema: Schema | None, query: bytes) -> tuple[bytes, str | None, str]:
    """The query string without its apart parameter, the name of that, and its text.

    All of it, None and nothing where that is not plain: without such a parameter, with two of them, or with an escape
    in the text or in any name. Nothing is refused here.
    """
    if (patterns := _splitting(schema)) is None or (match := patterns[0].search(query)) is None:
        return query, None, ""
    rest = query[:match.start()] + query[match.end():]
    if patterns[1].search(rest) is not None:
        return query, None, ""
    return rest, match[1].decode(), match[2].decode()


_MOST_DERIVED = 64  # by tenant, page size and parameter: few of each ask the same


class LoadedQuery(Mapping[str, Any]):
    """The loaded parameters by name. Requests whose query strings differ in an apart parameter alone share one: it is
    never changed.

    sent  (name, text) of each parameter as the client wrote it, without the apart one
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
        """Returns what `make` derives from these parameters, made once for each `key`.

        It may depend on which apart parameter there is, never on its value.
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
_SUGGESTIONS = 3  # of one request: looking for a near word takes half as long as a list


def load_body(schema: Schema, body: Mapping[str, Any], *, partial: bool = False,
              fixed: tuple[str, ...] = (), kept: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, Any]]:
    """The body as the schema understands it, and the read-only fields that came with it, with their ids read.

    `fixed` names fields that are read-only here though the schema could load them. Whether a read-only field may be
    there is for the handler to say: equal to the stored row it is harmless. `kept` may be left out.
    Raises `Problem` with its faults together, at most `MOST_FAULTS`: `missing_field`, `unknown_field`, `invalid_field`.
    """
    read_only = {name: with_read_ids(schema.fields[name], value) for name, value in body.items()
                 if name in fixed or (name in schema.dump_fields and name not in schema.load_fields)}
    writable = {name: value for name, value in body.items() if name not in read_only}
    if schema.unknown == RAISE and len(writable) > len(schema.fields) + MOST_FAULTS:
        # There may be a hundred thousand unknown names. Marshmallow would note each of them.
        known = {field.data_key or name for name, field in schema.load_fields.items()}
        unknown = islice((name for name in writable if name not in known), MOST_FAULTS)
        faults = [Fault("unknown_field", _UNKNOWN, pointer=below("", name)) for name in unknown]
        raise Problem.of(faults, "invalid_body")
    try:
        return schema.load(writable, partial=partial or fixed + kept), read_only
    except ValidationError as error:
        faults = list(islice(_body_faults(error.messages_dict, ""), MOST_FAULTS))
        raise Problem.of(faults, "invalid_body") from None


def load_query(schema: Schema | None, request: Request,
               granted: Callable[[str], bool] = lambda permission: False) -> LoadedQuery:
    """The query string as the schema understands it; `lang` is known everywhere, other parameters to schemas alone.

    A list (`fields`, `expand`, `…__in`) that was sent several times is one list. `granted` says whether the caller has
    a permission on any object: of parameters with `metadata={"guard": permission}` no others are suggested.

    Read once per query string, whatever its apart parameter: the same is asked for again, page by page. So a
    hook of the schema (`@validates`, `@validates_schema`, `@post_load`) must look at nothing but the parameters.
    Raises `Problem` with its faults together: `unknown_parameter`, `invalid_parameter`.
    """
    if schema is None and not request.query_string:
        return NO_PARAMETERS
    rest, name, text = split(schema, request.query_string)
    loaded = _queries.get((schema, rest), lambda: _query(schema, request.args, name, granted), text=rest)
    return loaded if name is None else loaded.with_apart(name, text)


_queries: BoundedCache[LoadedQuery] = BoundedCache()


def _query(schema: Schema | None, arguments: MultiDict[str, str], apart: str | None,
           granted: Callable[[str], bool]) -> LoadedQuery:
    """The loaded arguments, without the parameter `apart`."""
    fields = {} if schema is None else {field.data_key or name: field for name, field in schema.fields.items()}
    faults, sent, parts = list[Fault](), dict[str, str](), dict[str, list[str]]()
    for name, values in arguments.lists():
        if name not in fields and name != PARAMETER:
            shown = name.encode("utf-8", "replace").decode()[:80]
            meant = _nearest(shown, fields, granted) if len(faults) < _SUGGESTIONS else ""
            faults.append(Fault("unknown_parameter", _no_parameter(shown, meant), parameter=shown))
        elif len(values) > 1 and isinstance(fields.get(name), DelimitedList):
            sent[name] = ",".join(values)
            if isinstance(fields[name], ListParameter):
                parts[name] = values  # a quote that one part opens is not closed by the next one
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
        # Marshmallow takes its time for a field that was not sent, unless it is told to pass over it.
        idle = [name for name, field in schema.fields.items() if not field.required and field.load_default is not_sent]
        try:
            loaded |= schema.load(sent | parts, partial=frozenset(idle))
        except ValidationError as error:
            for name, problem in error.messages_dict.items():
                faults += _query_faults(name, fields.get(name), problem)
    if faults:
        raise Problem.of(faults, "invalid_parameter")
    return LoadedQuery(loaded, pairs)


def _nearest(name: str, fields: Mapping[str, Field[Any]], granted: Callable[[str], bool]) -> str:
    """The parameter that `name` most likely stands for, of those whose field the caller may see somewhere."""
    return nearest(name, (PARAMETER, *(known for known, field in fields.items()
                                       if "guard" not in field.metadata or granted(field.metadata["guard"]))))


def _no_parameter(name: str, meant: str) -> Message:
    if not meant:
        return Message("There is no parameter {name!r} here.", name=name)
    return Message("There is no parameter {name!r} here; did you mean {meant}?", name=name, meant=meant)


def _body_faults(messages: Mapping[Any, Any], pointer: str) -> Iterator[Fault]:
    for name, problem in messages.items():
        here = pointer if name == "_schema" else below(pointer, str(name))
        if isinstance(problem, Mapping):
            yield from _body_faults(problem, here)
            continue
        for message in problem if isinstance(problem, list) else [problem]:
            code = {MISSING: "missing_field", _UNKNOWN: "unknown_field"}.get(message, "invalid_field")
            yield Fault(code, message, pointer=here)


def _query_faults(name: str, field: Field[Any] | None, problem: Any) -> list[Fault]:
    """`field` is None where the schema refuses all parameters together. `meta` has the bounds that the text names."""
    if field is None:
        return [Fault("invalid_parameter", text) for text in _flatten(problem)]
    bounds = [(key, value) for check in field.validators for key in ("min", "max")
              if (value := getattr(check, key, None)) is not None]
    faults = []
    for text in _flatten(problem):
        named = set(_NUMBER.findall(text))
        meta = {key: value for key, value in bounds if str(value) in named}
        faults.append(Fault("invalid_parameter", text, parameter=name, meta=meta or None))
    return faults


def _flatten(problem: Any) -> list[str]:
    if isinstance(problem, Mapping):
        return [text for inner in problem.values() for text in _flatten(inner)]
    return list(problem) if isinstance(problem, list) else [problem]
