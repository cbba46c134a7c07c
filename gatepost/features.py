"""What a feature does besides its endpoints: background tasks, checks of health, numbers for Prometheus.

A blueprint, or a plugin, declares one `Feature` at the level of its module:

```python
feature = Feature(name="rates", background=tasks, checks={"rates": check})
```
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from models.engine.errors import RowError

from .health.checks import UNKNOWN, Found, State

if TYPE_CHECKING:
    from pathlib import Path

    from models.engine.database import Database
    from models.tables.tenant import Tenant
    from settings import Settings

    from .http.operations.background import BackgroundTask
    from .http.pipeline.application import Departure
    from .http.request.call import Services

    Check = Callable[["Installation"], Found]

_log = logging.getLogger("gatepost.features")


class Installation(NamedTuple):
    """What a check looks at: the settings in force, and the database, which is not connected yet.

    A `Setting` of a plugin is asked with it: `LIMIT.of(installation)`.
    """

    settings: Settings
    database: Database


class Number(NamedTuple):
    """A number for Prometheus: `name` begins with `gatepost_`, `about` is a sentence."""

    name: str
    about: str
    value: float


class CannotSave(Exception):
    """The installation cannot be saved; the text is a sentence."""


class Saved(NamedTuple):
    """A file that holds the installation. `tidy` removes older ones that need not stay, and returns these."""

    place: Path
    tidy: Callable[[], Iterable[Path]]


@dataclass(frozen=True, kw_only=True)
class Feature:
    """What one blueprint or plugin brings. A function may be named by a text, `package.module:function`, and is then
    imported when it is first called: a command that needs it not does not import it.

    name        of the feature, unique
    make        returns an object that lives as long as the app, given its services: `services.feature(name)`
    background  returns the background tasks of a process that serves, given its services
    departure   returns what sees each answer before it is sent, given the services
    checks      by name: how one thing is, given the installation; for health, `gatepost doctor` and Prometheus
    doctor      by name: what `gatepost doctor` asks instead of a check of that name, or besides
    sections    by name: returns findings that `gatepost doctor` shows when asked for them, as by `--nodes`
    numbers     returns numbers for Prometheus, given the installation
    save        keeps the installation as it is, before or after a step that cannot be undone, given the installation
                and which step it is, such as `before-migration`; returns a `Saved`. Raises CannotSave
    outdated    returns what an operator must change before or after an upgrade, as lines, given the installation
    news        returns what an upgrade brought, as sentences, given the installation
    demo        adds rows to look at to an empty tenant, inside a transaction, given the installation and the tenant
    """

    name: str
    make: Callable[[Services], object] | str | None = None
    background: Callable[[Services], Iterable[BackgroundTask]] | str | None = None
    departure: Callable[[Services], Departure] | str | None = None
    checks: Mapping[str, Check | str] = field(default_factory=dict)
    doctor: Mapping[str, Check | str] = field(default_factory=dict)
    sections: Mapping[str, Callable[[Installation], Iterable[Found]] | str] = field(default_factory=dict)
    numbers: Callable[[Installation], Iterable[Number]] | str | None = None
    save: Callable[[Installation, str], Saved] | str | None = None
    outdated: Callable[[Installation], Iterable[str]] | str | None = None
    news: Callable[[Installation], Iterable[str]] | str | None = None
    demo: Callable[[Installation, Tenant], None] | str | None = None

    def call(self, part: Callable[..., Any] | str, *given: object) -> Any:
        """Call a part of this feature, imported if a text names it."""
        return (resolve_name(part) if isinstance(part, str) else part)(*given)


class Features:
    """The features of an app, or of a command."""

    def __init__(self, found: Iterable[Feature]) -> None:
        self._found = tuple(found)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._found)

    def made(self, services: Services) -> dict[str, object]:
        """The objects that live as long as the app, by the name of their feature."""
        return {one.name: one.call(one.make, services) for one in self._found if one.make is not None}

    def background_tasks(self, services: Services) -> Iterator[BackgroundTask]:
        """The background tasks of a process."""
        for one in self._found:
            if one.background is not None:
                yield from one.call(one.background, services)

    def departures(self, services: Services) -> Iterator[Departure]:
        """What sees each answer before it is sent."""
        for one in self._found:
            if one.departure is not None:
                yield one.call(one.departure, services)

    def checks(self, installation: Installation) -> Iterator[tuple[str, Callable[[], Found]]]:
        """Each check by its name, as health and Prometheus ask them: none of them raises."""
        for one in self._found:
            for name, check in one.checks.items():
                yield name, partial(_answer, one, name, check, installation)

    def doctor(self, installation: Installation) -> Iterator[tuple[str, Callable[[], Found]]]:
        """Each check by its name, as `gatepost doctor` asks them: they raise what they raise."""
        for one in self._found:
            for name, check in {**one.checks, **one.doctor}.items():
                yield name, partial(one.call, check, installation)

    def section(self, name: str, installation: Installation) -> Iterator[Found]:
        """The findings of one section of `gatepost doctor`."""
        for one in self._found:
            if (part := one.sections.get(name)) is not None:
                yield from one.call(part, installation)

    def save(self, installation: Installation, step: str) -> list[Saved]:
        """Keep the installation as it is now. Raises CannotSave."""
        return [one.call(one.save, installation, step) for one in self._found if one.save is not None]

    def outdated(self, installation: Installation) -> list[str]:
        """What an operator must change before or after an upgrade, as lines."""
        asked = (one.call(one.outdated, installation) for one in self._found if one.outdated is not None)
        return [line for lines in asked for line in lines]

    def news(self, installation: Installation) -> Iterator[str]:
        """What an upgrade brought, as sentences."""
        for one in self._found:
            if one.news is not None:
                yield from one.call(one.news, installation)

    def demo(self, installation: Installation, tenant: Tenant) -> None:
        """Add rows to look at to an empty tenant."""
        for one in self._found:
            if one.demo is not None:
                one.call(one.demo, installation, tenant)

    def numbers(self, installation: Installation) -> Iterator[Number]:
        """Numbers for Prometheus; none of a feature that fails."""
        for one in self._found:
            if one.numbers is not None:
                try:
                    yield from [Number(*number) for number in one.call(one.numbers, installation)]
                except (RowError, OSError):
                    continue  # the database is away: others say so
                except Exception as error:
                    _log.error("the numbers of %s cannot be had: %s: %s", one.name, type(error).__name__, error)


def _answer(feature: Feature, name: str, check: Check | str, installation: Installation) -> Found:
    try:
        return Found(*feature.call(check, installation))
    except (RowError, OSError):
        return UNKNOWN
    except Exception as error:
        _log.error("the check %s fails: %s: %s", name, type(error).__name__, error)
        return Found(State.DEGRADED, f"the check itself fails ({type(error).__name__}): the log says more")
