"""The setting `without`: shipped collections and features that an instance leaves out, and checks of their names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from models.tables.share import Share
from policies.wording.suggestions import did_you_mean
from settings import SettingError

from ..collection import Collection
from ..registry import SHARING
from . import shipped
from .references import references

OPTIONAL = ("articles", "categories", "comments", "contact", "orders", "pages", "products")  # others serve Gatepost
REQUIRED = frozenset(("sessions",))  # features without which nothing can be served
# Collections for a first request, the best first. Guests may list all but the last, which is always served.
_TO_BEGIN_WITH = ("articles", "pages", "products", "categories", "comments", "users")


def to_begin_with(left_out: Container[str]) -> str:
    """Returns the collection for a first request."""
    return next(name for name in _TO_BEGIN_WITH if name not in left_out)


def refuse_unusable(names: Iterable[str], collections: Mapping[str, Collection]) -> None:
    """Raises SettingError for a name that is not optional, and for one that a served collection or feature needs.

    `collections` are all collections before anything is left out, those of plugins included.
    """
    absent = frozenset(names)
    for name in sorted(absent.difference(optional())):
        raise SettingError(f"without: {_cannot(name, collections)}")
    for collection in collections.values():
        if collection.name not in absent and (needed := next(
                ((field, to.collection) for field, to in references(collection.body_schema)
                 if to.collection in absent), None)):
            field, name = needed
            raise SettingError(f"without: {name} cannot be left out, because {collection.name} refer to them ({field})"
                               f"{'; leave out both' if collection.name in OPTIONAL else ''}")
    for name in sorted(absent):
        if needing := [feature.name for feature in shipped.features().values()
                       if name in feature.needs and feature.name not in absent]:
            raise SettingError(f"without: {name} cannot be left out, because others need it; leave out these, too: "
                               f"{' '.join(needing)}")


def ignored(without: Container[str]) -> frozenset[str]:
    """Returns the tables whose rows decisions ignore."""
    return frozenset((Share._meta.table_name,) if SHARING in without else ())


def optional() -> tuple[str, ...]:
    """Returns the names that the setting `without` accepts."""
    return (*OPTIONAL, *(name for name in shipped.features() if name not in REQUIRED))


def _cannot(name: str, collections: Mapping[str, Collection]) -> str:
    if name not in collections and name not in shipped.features():
        return f"there is no shipped collection or feature {name!r}{did_you_mean(name, optional())}"
    can = ", ".join(sorted(optional()))
    return f"{name} cannot be left out, because Gatepost itself needs it or a plugin brings it; what can be: {can}"
