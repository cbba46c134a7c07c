"""Declarations of plugins: reads them from modules, and describes those that cannot be used."""

from __future__ import annotations

import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

from marshmallow import Schema, fields, missing

from models.base import Record
from models.records.columns import ListField
from policies import SHIPPED
from policies.syntax.attributes import ENVIRONMENT, SUBJECT
from policies.syntax.conditions import branches_of
from policies.syntax.matcher import FUNCTIONS, OURS, Refused, parse
from policies.syntax.model import MODEL_FILE, read_model
from policies.syntax.vocabulary import Condition, Function
from policies.wording.suggestions import hint
from settings import Setting

from ...features import Feature
from ...http.reading.filters import OPERATORS, fits
from ...http.request.events import CREATED, DELETED, UPDATED
from ...http.writing.actions import Action
from ...http.writing.writable import ANONYMISE, DELETE, HAND_OVER, Writable
from ...jobs.hooks import Hook
from ..collection import Collection
from ..registry import VERBS, unfilled
from .columns import lost

Kind = TypeVar("Kind")
_NAME = re.compile(r"[a-z][A-Za-z0-9]*", re.ASCII)
_WORD = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_VIEW_VERB = re.compile(r"view_[a-z0-9_]+", re.ASCII)
_SET_VERB = re.compile(r"set_[a-z0-9_]+", re.ASCII)
# Names that mean something in a matcher of one of Casbin's implementations: `r2`, `eval(…)`, `true`.
_SECTION = re.compile(r"[rpegm]\d*", re.ASCII)
_LANGUAGE = frozenset((*keyword.kwlist, "eval", "this", "true", "false", "null", "undefined",
                       "rand", "randint", "int", "float", "str"))


def functions_of(modules: Iterable[ModuleType]) -> Iterator[Function]:
    """Yields the functions that are variables of these modules, each once."""
    return _of_kind(Function, modules)


def conditions_of(modules: Iterable[ModuleType]) -> Iterator[Condition]:
    """Yields the conditions that are variables of these modules, each once."""
    return _of_kind(Condition, modules)


def settings_of(modules: Iterable[ModuleType]) -> Iterator[Setting[Any]]:
    """Yields the settings that are variables of these modules, each once."""
    return _of_kind(Setting, modules)


def features_of(modules: Iterable[ModuleType]) -> Iterator[Feature]:
    """Yields the features that are variables of these modules, each once."""
    return _of_kind(Feature, modules)


def _of_kind(kind: type[Kind], modules: Iterable[ModuleType]) -> Iterator[Kind]:
    values = (value for module in modules for value in vars(module).values() if isinstance(value, kind))
    yield from {id(value): value for value in values}.values()


def unusable(function: Function) -> str | None:
    """Returns the reason why a matcher cannot call a function; None if it can.

    Raises TypeError for a declaration with values of wrong types.
    """
    if not _NAME.fullmatch(function.name):
        return "the name must be letters and digits, with a small letter first"
    from casbin.model.function import FunctionMap  # takes a while to import, and most instances have no function
    of_casbin: Any = FunctionMap  # Casbin carries no types
    if function.name in _LANGUAGE or _SECTION.fullmatch(function.name) or function.name in (
            *FUNCTIONS, *OURS, *of_casbin.load_function_map().get_functions()):
        return "the name has a meaning of its own in a matcher of Casbin"
    hash(function)  # it is part of keys of caches
    if not function.reads:
        return "`reads` must name what it looks at, as in (('obj', 'status'),)"
    for root, name in function.reads:
        if root != "obj" and (wrong := _unknown(root, name)):
            return f"`reads` has ({root!r}, {name!r}){wrong}"
    if function.where is None and any(root == "obj" for root, _ in function.reads):
        return "it reads a column and lacks `where`, its half for a table"
    if not {*function.literals} <= {str, int}:
        return "`literals` must be types, each of them str or int"
    for word, values in function.words.items():
        if not _WORD.fullmatch(word) or tuple(map(type, values)) != function.literals:
            return f"`words` must have words of the condition column, each with its literals; {word!r} has not"
    return None


def wrong_with(collection: Collection) -> str | None:
    """Describes the first error in a collection's declaration; None if there is none.

    `bad_action` and `bad_filter` check actions and filters.
    """
    class_name = type(collection).__name__
    if (reason := bad_guard(collection)) is not None:
        return f"{class_name}.guarded {reason}"
    if (reason := bad_view_guard(collection)) is not None:
        return f"{class_name}.view_guarded {reason}"
    if (reason := bad_set_guard(collection)) is not None:
        return f"{class_name}.set_guarded {reason}"
    if (reason := bad_erasure(collection)) is not None:
        return f"{class_name}.{reason}"
    if collection.search != collection.model.searched:
        return (f"{class_name}.search and {collection.model.__name__}.searched differ; only what a new row is indexed "
                "by can be searched for")
    return lost(collection) or bad_default(collection)


def bad_erasure(collection: Collection) -> str | None:
    """Describes the first error in `on_erase` and `anonymised`; None if there is none."""
    if collection.on_erase not in (DELETE, ANONYMISE, HAND_OVER):
        return f"on_erase must be {DELETE}, {ANONYMISE} or {HAND_OVER}, not {collection.on_erase!r}"
    declared: object = collection.anonymised
    if not isinstance(declared, Mapping):
        return "anonymised must say for each column which value it gets, such as {'note': None}"
    if bool(declared) is not (collection.on_erase == ANONYMISE):
        return f"on_erase {ANONYMISE!r} and anonymised belong together: neither is of use without the other"
    for name, value in declared.items():
        column = collection.model._meta.fields.get(name)
        if column is None or name in Record._meta.fields or name == "owner_id":
            return f"anonymised names {name!r}, which is no column that can be anonymised"
        if value is None and not column.null:
            return f"anonymised sets {name!r} to None, which the column does not take"
    return None


def bad_guard(collection: Collection) -> str | None:
    """Describes the first error in `guarded`; None if there is none."""
    declared: object = collection.guarded
    if not isinstance(declared, Mapping):
        return "must say for each field which permission shows it, such as {'email': 'user.view_private'}"
    for name, permission in collection.guards.items():
        if name in collection.view_guarded:
            continue
        if name not in collection.body_schema.dump_fields:
            return f"names {name!r}, which it does not answer"
        if permission.partition(".")[0] != collection.resource:
            return f"names the permission {permission!r}, which is not one of {collection.resource}.*"
        if (reason := _revealed(collection, name)) is not None:
            return reason
    return None


def bad_view_guard(collection: Collection) -> str | None:
    """Describes the first error in `view_guarded`; None if there is none."""
    declared: object = collection.view_guarded
    if not isinstance(declared, Mapping) or not all(isinstance(verb, str) for verb in declared.values()):
        return "must say for each field which permission shows it, such as {'total': 'view_total'}"
    for name, verb in collection.view_guarded.items():
        schema: Schema = collection.body_schema
        within, _, field = name.rpartition(".")  # a list, and a field of its entries
        if within:
            entries = schema.dump_fields.get(within)
            inner = entries.inner if isinstance(entries, fields.List) else None
            if not isinstance(inner, fields.Nested):
                return f"names {name!r}, and {within!r} is no list of objects"
            schema = inner.schema
            if field in schema.load_fields:
                return f"names {name!r}, which a body can set; only a field of answers can be guarded in a list"
        if field not in schema.dump_fields:
            return f"names {name!r}, which it does not answer"
        if not _VIEW_VERB.fullmatch(verb):
            return f"has the verb {verb!r} for {name!r}, which does not begin with view_"
        if name in collection.guarded:
            return f"names {name!r}, which `guarded` names, too"
        if name == "version":
            return "names 'version', which only `guarded` can hide"
        if (reason := _revealed(collection, name)) is not None:
            return reason
    return None


def _revealed(collection: Collection, name: str) -> str | None:
    """Describes how a search or an import would reveal a guarded field; None if none would."""
    if name in collection.search:
        return f"names {name!r}, which is searched: what a search finds would tell what is in it"
    if name in collection.import_keys:
        return f"names {name!r}, which is an import key: what a line finds would tell what is in it"
    return None


def bad_set_guard(collection: Collection) -> str | None:
    """Describes the first error in `set_guarded`; None if there is none."""
    declared: object = collection.set_guarded
    if not isinstance(declared, Mapping) or not all(isinstance(verb, str) for verb in declared.values()):
        return "must say for each field which permission sets it, such as {'price': 'set_price'}"
    for name, permission in collection.set_guards.items():
        resource, _, verb = permission.partition(".")
        bodies = (collection.body_schema, *(action.body for action in collection.actions))
        if name not in collection.model._meta.fields or not any(name in body.load_fields for body in bodies):
            return f"names {name!r}, which is no field of a body with a column"
        if resource != collection.resource or not _SET_VERB.fullmatch(verb):
            return f"names the permission {permission!r}, which is not one of {collection.resource}.set_*"
        if name in collection.managed:
            return f"names {name!r}, which is managed: `{collection.managing[name]}` sets it"
    return None


def bad_filter(declared: type[Collection]) -> str | None:
    """Describes the first error in `filters`; None if there is none. Runs before the collection is created."""
    filters: Mapping[str, object] = declared.filters
    for name, operators in filters.items():
        if isinstance(operators, str) or not isinstance(operators, Iterable):
            return f"filters[{name!r}] must be several operators, such as ('eq', 'in')"
        column = declared.model._meta.fields.get(name)
        for operator in operators:
            if operator not in OPERATORS:
                return f"filters has the operator {operator!r} for {name!r}{hint(operator, OPERATORS)}"
            if column is not None and not fits(column, operator):
                kind = "a list" if isinstance(column, ListField) else "no list" if operator == "has" else "no text"
                return f"filters has the operator {operator!r} for {name!r}, which is {kind}"
    return None


def bad_default(collection: Collection) -> str | None:
    """Describes the first column that would have no value in a new row; None if there is none."""
    if not takes_bodies(collection):
        return None
    for name in unfilled(collection):
        says = "may leave out" if name in collection.body_schema.load_fields else "never has"
        model = collection.model.__name__
        return f"a body {says} {name!r}, and the column of {model} has neither default nor null"
    return None


def bad_null(collection: Collection) -> str | None:
    """Describes the first column that may be null although the schema allows no null; None if there is none.

    Collections of Gatepost itself are not checked: some of their columns take null, but every row has a value.
    """
    model, schema = collection.model, collection.body_schema
    for name, field in schema.dump_fields.items():
        column = model._meta.fields.get(name)
        if (column is not None and column.null and column.default is None and not field.allow_none
                and (field.dump_only or not (field.required or field.load_default is not missing))):
            return (f"{name!r} may be null in an answer, because the column of {model.__name__} has null=True; give "
                    f"the field of {type(schema).__name__} allow_none=True")
    return None


def takes_bodies(collection: Collection) -> bool:
    """True if clients create rows, and every value comes from the body, a default or the service.

    False if code of the collection gives some values.
    """
    kind = type(collection)
    plain = all(getattr(kind, name) is getattr(Writable, name) for name in ("create", "stamp", "derive", "draft"))
    return plain and any(endpoint.name == "create" for endpoint in collection.served)


def bad_action(collection: Collection) -> tuple[Action, str] | None:
    """Returns the first action that cannot be used, and the reason; None if there is none."""
    names = Counter(endpoint.name for endpoint in collection.served)
    for action in collection.actions:
        action_name = f"the action {action.name!r}"
        if not _WORD.fullmatch(action.name):
            return action, f"{action_name} must be called by small letters, digits and _"
        if names[action.name] > 1 or action.name in (*VERBS, CREATED, UPDATED, DELETED):
            return action, f"{action_name} has a name that means something else already"
        if action.transitions and action.state not in collection.model._meta.fields:
            return action, f"{action_name} moves the column {action.state!r}, which {collection.model.__name__} lacks"
    return None


def unknown_event(hook: Hook, collections: Iterable[Collection]) -> str | None:
    """Describes the first event of a hook that no collection has; None if there is none."""
    events = {f"{collection.name}.{event}" for collection in collections
              for event in (CREATED, UPDATED, DELETED, *(action.name for action in collection.actions))}
    unknown = next((event for event in hook.events if event not in events), None)
    return None if unknown is None else f"there is no event {unknown!r}{hint(unknown, events)}"


def _unknown(root: str, name: str) -> str:
    attributes: Mapping[str, object] | None = {"sub": SUBJECT, "env": ENVIRONMENT}.get(root)
    if attributes is None:
        return "; the first is obj, sub or env"
    return "" if name in attributes else hint(name, attributes)


class Words:
    """The words of all plugins so far."""

    def __init__(self) -> None:
        self._branches: dict[str, str] = {}

    def taken(self, functions: Iterable[Function], conditions: Iterable[Condition]) -> str | None:
        """Describes the first word that has another meaning already; else adds the words and returns None."""
        for word, branch in branches_of(functions, conditions).items():
            if word in _shipped():
                return f"the word {word!r} is a condition of Gatepost itself; choose another"
            if self._branches.setdefault(word, branch) != branch:
                return f"the word {word!r} means something else already: {self._branches[word]}"
        return None


def unreadable(condition: Condition, functions: Mapping[str, Function]) -> str | None:
    """Describes why a condition cannot stand in model.conf; None if it can.

    `functions` are those that its matcher may call. Raises TypeError for a declaration with values of wrong types.
    """
    if not _WORD.fullmatch(condition.word):
        return "its word must be small letters, digits and _, with a letter first"
    if "\n" in condition.matcher:
        return "its matcher must be one line"
    try:
        parse(condition.matcher, file="", line=0, fields=(), functions=functions.values())
    except Refused as error:
        return error.findings[0].message
    return None


@cache
def _shipped() -> frozenset[str]:
    model, _ = read_model(SHIPPED.joinpath(MODEL_FILE).read_bytes())
    return frozenset(() if model is None else model.conditions)
