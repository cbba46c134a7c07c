"""The setting `without`: which shipped collections and features an instance leaves out, and why one cannot be."""

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
# Collections to show first, the best first: guests may list all but the last, which is always served.
_TO_BEGIN_WITH = ("articles", "pages", "products", "categories", "comments", "users")


def to_begin_with(left_out: Container[str]) -> str:
    """Returns the collection that a first request asks for."""
    return next(name for name in _TO_BEGIN_WITH if name not in left_out)


def refuse_unusable(names: Iterable[str], collections: Mapping[str, Collection]) -> None:
    """Raises SettingError for a name of nothing that is shipped and can be left out, and for what others need.

    `collections` are those that are served otherwise, also of plugins.
    """
    left = frozenset(names)
    for name in sorted(left.difference(optional())):
        raise SettingError(f"without: {_cannot(name, collections)}")
    for one in collections.values():
        if one.name not in left and (needed := next(((field, to.collection) for field, to in references(one.body_schema)
                                                     if to.collection in left), None)):
            field, name = needed
            raise SettingError(f"without: {name} cannot be left out, because {one.name} refer to them ({field})"
                               f"{'; leave out both' if one.name in OPTIONAL else ''}")
    for name in sorted(left):
        if needing := [one.name for one in shipped.features().values() if name in one.needs and one.name not in left]:
            raise SettingError(f"without: {name} cannot be left out, because others need it; leave out these, too: "
                               f"{' '.join(needing)}")


def ignored(without: Container[str]) -> frozenset[str]:
    """Returns the tables whose rows count for nothing where it is decided who may do what."""
    return frozenset((Share._meta.table_name,) if SHARING in without else ())


def optional() -> tuple[str, ...]:
    """Returns the names of all that can be left out."""
    return (*OPTIONAL, *(name for name in shipped.features() if name not in REQUIRED))


def _cannot(name: str, collections: Mapping[str, Collection]) -> str:
    if name not in collections and name not in shipped.features():
        return f"there is no shipped collection or feature {name!r}{did_you_mean(name, optional())}"
    can = ", ".join(sorted(optional()))
    return f"{name} cannot be left out, because Gatepost itself needs it or a plugin brings it; what can be: {can}"
