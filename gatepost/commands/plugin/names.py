"""Names of a new plugin and its parts, and checks of them."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Self

from gatepost.collections.registry import Registry
from policies import SHIPPED
from settings import DECLARED, Setting
from settings.plugins import clash

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST = 30  # the history of migrations has the name of the package, and at most 41 characters
SETTINGS = ("again",)  # settings in the templates
# Classes that the templates define or import: a table with such a name would hide one.
CLASSES = frozenset(("Any", "Collection", "Conflict", "Database", "Example", "Flask", "Line", "Meta", "Owned",
                     "OwnedSchema", "Setting", "Task", "Text"))


@dataclass(frozen=True)
class Names:
    """The names of a plugin: `plural` and `singular` as they were typed, `price-lists` and `price-list`."""

    plural: str
    singular: str

    @classmethod
    def of(cls, plural: str, singular: str | None = None) -> Self:
        """Returns the names of a plugin; without `singular`, it is derived: `category` from `categories`."""
        if singular is None:
            singular = f"{plural[:-3]}y" if plural.endswith("ies") else plural.removesuffix("s")
        return cls(plural, singular)

    @property
    def distribution(self) -> str:
        """The name of the package for pip, and of the folder."""
        return f"gatepost-{self.plural}"

    @property
    def package(self) -> str:
        """The name of the Python package, and of the table, so that tables of two plugins differ."""
        return f"gatepost_{self.collection}"

    @property
    def collection(self) -> str:
        return self.plural.replace("-", "_")

    @property
    def resource(self) -> str:
        return self.singular.replace("-", "_")

    @property
    def classes(self) -> tuple[str, str]:
        """The class names of the table and of the collection."""
        row, rows = ("".join(part.capitalize() for part in name.split("-")) for name in (self.singular, self.plural))
        return row, rows

    def unusable(self) -> str | None:
        """Describes why a name cannot be used; None if all can."""
        for name in (self.plural, self.singular):
            if not _NAME.fullmatch(name):
                return f"{name!r}: a name has small letters, digits and single hyphens, and begins with a letter."
            if len(name) > _LONGEST:
                return f"{name!r}: a name has at most {_LONGEST} characters."
            if keyword.iskeyword(name):
                return f"{name!r} is a word of Python itself; choose another name."
        row, rows = self.classes
        if row == rows:
            return f"{self.plural!r}: NAME is a plural; say what one of them is called with --singular WORD."
        if hidden := sorted({row, rows, f"{row}Schema"} & CLASSES):
            return f"A class {hidden[0]} would hide that of Gatepost; choose another name, or --singular WORD."
        return None

    def taken(self, served: Registry) -> str | None:
        """Describes the first name that is taken already; None if all are free."""
        path = f"/api/{self.collection}"
        paths = (endpoint.path for _, _, endpoints in served.endpoints() for endpoint in endpoints)
        if any(path_in_use == path or path_in_use.startswith(f"{path}/") for path_in_use in paths):
            return f"{path} is answered already; choose another name."
        if (self.collection in served.collections or self.collection in served.routes
                or SHIPPED.joinpath(f"{self.collection}.csv").is_file()):
            return f"The name {self.collection!r} is taken; choose another one."
        if self.resource in served.vocabulary.resources or self.resource in served.vocabulary.left_out:
            return f"There are permissions {self.resource}.… already; choose another name, or --singular WORD."
        settings = {name: Setting.switch(name, False, "of the templates") for name in SETTINGS}
        if (reason := clash({**served.settings, self.collection: settings}, DECLARED)) is not None:
            return f"{self.plural!r}: {reason}; choose another name."
        if find_spec(self.package) is not None:
            return f"There is a package {self.package} already; choose another name."
        return None
