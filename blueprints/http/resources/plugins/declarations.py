"""What plugins declare: collections, hooks, functions for the matcher of model.conf; and which of it is unusable."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from casbin.model.function import FunctionMap

from models.base import Record
from policies.syntax.attributes import ENVIRONMENT, SUBJECT
from policies.syntax.matcher import FUNCTIONS, OURS
from policies.syntax.vocabulary import Function
from policies.wording.suggestions import hint

from ...jobs.hooks import Hook
from ...request.events import CREATED, DELETED, UPDATED
from ...writing.writable import ANONYMISE, DELETE, HAND_OVER
from ..collection import Collection

_NAME = re.compile(r"[a-z][A-Za-z0-9]*", re.ASCII)
_WORD = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
# Names with a meaning of their own in a matcher, in one of the Casbins: `r2`, `eval(…)`, `true`.
_SECTION = re.compile(r"[rpegm]\d*", re.ASCII)
_LANGUAGE = frozenset((*keyword.kwlist, "eval", "this", "true", "false", "null", "undefined",
                       "rand", "randint", "int", "float", "str"))
_OF_CASBIN: Any = FunctionMap  # Casbin carries no types


def functions_of(modules: Iterable[ModuleType]) -> Iterator[Function]:
    """The functions that stand at the level of these modules, each once."""
    found = (one for module in modules for one in vars(module).values() if isinstance(one, Function))
    yield from {id(one): one for one in found}.values()


def unusable(function: Function) -> str | None:
    """Why a function cannot be called in a matcher, if so. Raises TypeError for a declaration of another form."""
    if not _NAME.fullmatch(function.name):
        return "the name must be letters and digits, with a small letter first"
    if function.name in _LANGUAGE or _SECTION.fullmatch(function.name) or function.name in (
            *FUNCTIONS, *OURS, *_OF_CASBIN.load_function_map().get_functions()):
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
    for word, given in function.words.items():
        if not _WORD.fullmatch(word) or tuple(map(type, given)) != function.literals:
            return f"`words` must have words of the condition column, each with its literals; {word!r} has not"
    return None


def bad_erasure(collection: Collection) -> str | None:
    """What is wrong with what a collection does when a person is erased, if anything is."""
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
    """What is wrong with the guarded fields of a collection, if anything is."""
    declared: object = collection.guarded
    if not isinstance(declared, Mapping):
        return "must say for each field which permission shows it, such as {'email': 'user.view_private'}"
    for name, permission in collection.guards.items():
        if name not in collection.body_schema.dump_fields:
            return f"names {name!r}, which it does not answer"
        if permission.partition(".")[0] != collection.resource:
            return f"names the permission {permission!r}, which is not one of {collection.resource}.*"
        if name in collection.search:
            return f"names {name!r}, which is searched: what a search finds would tell what is in it"
        if name in collection.import_keys:
            return f"names {name!r}, which is an import key: what a line finds would tell what is in it"
    return None


def unknown_event(hook: Hook, collections: Iterable[Collection]) -> str | None:
    """Which of the events of a hook no collection has, if so."""
    known = {f"{one.name}.{what}" for one in collections
             for what in (CREATED, UPDATED, DELETED, *(action.name for action in one.actions))}
    unknown = next((event for event in hook.events if event not in known), None)
    return None if unknown is None else f"there is no event {unknown!r}{hint(unknown, known)}"


def _unknown(root: str, name: str) -> str:
    known: Mapping[str, object] | None = {"sub": SUBJECT, "env": ENVIRONMENT}.get(root)
    if known is None:
        return "; the first is obj, sub or env"
    return "" if name in known else hint(name, known)
