"""The setting `without`: which shipped collections an instance leaves out, and why one cannot be left out."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from policies.wording.suggestions import did_you_mean
from settings import SettingError

from ..collection import Collection
from .references import references

OPTIONAL = ("articles", "categories", "comments", "contact", "orders", "pages", "products")  # others serve Gatepost
# Collections to show first, the best first: guests may list all but the last, which is always served.
_TO_BEGIN_WITH = ("articles", "pages", "products", "categories", "comments", "users")


def to_begin_with(left_out: Container[str]) -> str:
    """Returns the collection that a first request asks for."""
    return next(name for name in _TO_BEGIN_WITH if name not in left_out)


def refuse_unusable(names: Iterable[str], collections: Mapping[str, Collection]) -> None:
    """Raises SettingError for a name that is no collection which can be left out of these: all, also of plugins."""
    left = frozenset(names)
    for name in sorted(left):
        if name not in OPTIONAL:
            raise SettingError(f"without: {_cannot(name, collections)}")
    for one in collections.values():
        if one.name not in left and (needed := next(((field, to.collection) for field, to in references(one.body_schema)
                                                     if to.collection in left), None)):
            field, name = needed
            raise SettingError(f"without: {name} cannot be left out, because {one.name} refer to them ({field})"
                               f"{'; leave out both' if one.name in OPTIONAL else ''}")


def _cannot(name: str, collections: Mapping[str, Collection]) -> str:
    if name not in collections:
        return f"there is no shipped collection {name!r}{did_you_mean(name, OPTIONAL)}"
    can = ", ".join(OPTIONAL)
    return f"{name} cannot be left out, because Gatepost itself needs them or a plugin brings them; what can be: {can}"
