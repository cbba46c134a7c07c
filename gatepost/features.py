"""Parts of a feature besides its endpoints: commands, background tasks, health checks, numbers for Prometheus.

A blueprint or a plugin declares one `Feature` as a variable of its module:

```python
feature = Feature(name="rates", background=tasks, checks={"rates": check})
```
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pkgutil import resolve_name
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from models.engine.errors import RowError

from .health.check_result import UNKNOWN, CheckResult, State
from .http.request.caller_attribute import CallerAttribute
from .http.request.user_fact import UserFact

if TYPE_CHECKING:
    from pathlib import Path

    from models.engine.database import Database
    from models.tables.tenant import Tenant
    from models.tables.user import User
    from settings import Settings

    from .http.operations.background import BackgroundTask
    from .http.pipeline.application import Departure
    from .http.request.bearer_token import BearerToken
    from .http.request.call import Call, Services
    from .http.security.keys import Keys

    Around = Callable[[Call], AbstractContextManager[object]]
    Check = Callable[["Installation"], CheckResult]

_NUMBER = re.compile(r"gatepost_[a-z0-9_]+", re.ASCII)
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_log = logging.getLogger("gatepost.features")


class Installation(NamedTuple):
    """The argument of a check: the settings, and the database, which is not connected yet.

    `LIMIT.of(installation)` returns the value of a plugin's `Setting`.
    """

    settings: Settings
    database: Database


class Number(NamedTuple):
    """A number for Prometheus: `name` begins with `gatepost_`, `about` is a sentence."""

    name: str
    about: str
    value: float


class Command(NamedTuple):
    """A command: its place, `package.module:command`, and its line in a list of commands."""

    target: str
    help: str


class FeatureError(Exception):
    """Error of a feature that cannot be used. The message names it and has the reason."""


class CannotSave(Exception):
    """Error if no copy of the installation can be made. The message is a sentence."""


class Saved(NamedTuple):
    """A file with a copy of the installation. `tidy` removes older copies and returns their paths."""

    place: Path
    tidy: Callable[[], Iterable[Path]]


@dataclass(frozen=True, kw_only=True)
class Feature:
    """The declaration of one feature of a blueprint or plugin.

    A function may be given as text, `package.module:function`. It is then imported when it is first called, so a
    command that does not call it does not import it.

    name        unique name; for a shipped feature, the name of its folder
    needs       the shipped features that it cannot be served without
    permissions its permissions; without the feature, those that no other endpoint needs have no effect
    rows        resource → the table of its rows, as `package.module:Table`; rules may read its columns
    settings    names of Gatepost's settings that have no effect without it
    commands    the words after `gatepost`, such as `backup` or `policy who` → command
    extends     name of another feature → a module with endpoints that are served only if both features are, such as
                pages of the console
    make        takes the services; returns an object that lives as long as the app: `services.feature(name)`
    background  takes the services; returns the background tasks of a serving process
    departure   takes the services; returns a function that gets each response before it is sent, or None: there is
                nothing to do
    around      takes the settings when the app starts; returns (name in the audit log, such as `session.create` → a
                function that takes the call and returns a context manager around the handlers of that name)
    checks      name → a check for health, `gatepost doctor` and Prometheus; takes the installation
    doctor      name → a check for `gatepost doctor` only; it replaces a check of the same name
    left_out    name → a check for `gatepost doctor` where the setting `without` names this feature
    sections    name → a function that returns findings for an option of `gatepost doctor`, such as `--nodes`
    numbers     takes the installation; returns numbers for Prometheus
    save        takes the installation and the name of a step that cannot be undone, such as `before-migration`; makes a
                copy of the installation and returns a `Saved`. Raises CannotSave
    reencrypt   takes the installation and the ring of keys; encrypts what it stores with the key that signs now. Called
                after a rotation of the keys, and before older keys are dropped
    outdated    takes the installation; returns lines about what an operator must change before or after an upgrade
    news        takes the installation; returns sentences about what an upgrade brought
    demo        takes the installation and an empty tenant; adds demo rows to it, in the current transaction
    caller      name → an attribute of the caller, for rules
    next_step   takes the call of a login and its user, after the password was checked and before the session opens, in
                no transaction. Raises `Problem` (`login_incomplete`) if the login needs another step
    bearer      takes the services and a bearer token that Gatepost did not make; returns a `BearerToken`, or None for a
                token that it does not know. Raises `Problem` (`invalid_token`, `token_expired`) to refuse one that it
                knows, and `unavailable` or `overloaded` if it cannot tell now
    drop_credentials  takes the call and a user whose address a mailed link has proved for the first time, in the
                transaction of the link; removes what else lets anyone log in to the account. Returns what it removed,
                as texts such as `passkeys (2)`
    facts       takes nothing; returns facts about users, for access reviews
    """

    name: str
    needs: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    settings: tuple[str, ...] = ()
    commands: Mapping[str, Command] = field(default_factory=dict)
    extends: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[Services], object] | str | None = None
    background: Callable[[Services], Iterable[BackgroundTask]] | str | None = None
    departure: Callable[[Services], Departure | None] | str | None = None
    around: Callable[[Settings], Mapping[str, Around]] | str | None = None
    checks: Mapping[str, Check | str] = field(default_factory=dict)
    doctor: Mapping[str, Check | str] = field(default_factory=dict)
    left_out: Mapping[str, Check | str] = field(default_factory=dict)
    sections: Mapping[str, Callable[[Installation], Iterable[CheckResult]] | str] = field(default_factory=dict)
    numbers: Callable[[Installation], Iterable[Number]] | str | None = None
    save: Callable[[Installation, str], Saved] | str | None = None
    reencrypt: Callable[[Installation, Keys], None] | str | None = None
    outdated: Callable[[Installation], Iterable[str]] | str | None = None
    news: Callable[[Installation], Iterable[str]] | str | None = None
    demo: Callable[[Installation, Tenant], None] | str | None = None
    caller: Mapping[str, CallerAttribute] = field(default_factory=dict)
    next_step: Callable[[Call, User], None] | str | None = None
    bearer: Callable[[Services, str], BearerToken | None] | str | None = None
    drop_credentials: Callable[[Call, User], Iterable[str]] | str | None = None
    facts: Callable[[], Iterable[UserFact]] | str | None = None

    def call(self, part: Callable[..., Any] | str, *arguments: object) -> Any:
        """Calls a part of this feature, and imports it first if it is given as text. Raises FeatureError."""
        try:
            function = resolve_name(part) if isinstance(part, str) else part
        except Exception as error:
            raise FeatureError(f"the feature {self.name!r}: {part} cannot be imported: {error}") from error
        if not callable(function) or isinstance(function, ModuleType):
            raise FeatureError(f"the feature {self.name!r}: {part!r} is no function")
        return function(*arguments)

    def begin(self, name: str, *arguments: object) -> Any:
        """Calls a part that an app needs to start. Raises FeatureError for any error but RowError."""
        try:
            returned = self.call(getattr(self, name), *arguments)
            return [*returned] if isinstance(returned, Iterator) else returned  # a generator raises only here
        except (FeatureError, RowError):
            raise
        except Exception as error:
            raise FeatureError(f"the feature {self.name!r}: {name} fails: {type(error).__name__}: {error}") from error


def malformed(feature: Feature) -> str | None:
    """Describes the first error in a declaration as a clause; None if there is none."""
    if not isinstance(feature.name, str) or not _NAME.fullmatch(feature.name):
        return "its name must be small letters, digits and _"
    needs: Any = feature.needs
    if isinstance(needs, str) or not isinstance(needs, Iterable) or not all(isinstance(name, str) for name in needs):
        return "needs must be names of features"
    extends: Any = feature.extends
    if not isinstance(extends, Mapping) or not all(isinstance(text, str) for pair in extends.items() for text in pair):
        return "extends must name a module for each feature"
    checks = feature.checks, feature.doctor, feature.left_out, feature.sections
    if not all(isinstance(part, Mapping) for part in checks):
        return "checks, doctor, left_out and sections must be mappings by name"
    return _malformed_caller(feature.caller)


def _malformed_caller(caller: Any) -> str | None:
    from policies.syntax.attributes import SUBJECT  # not loaded by `gatepost --help`

    if not isinstance(caller, Mapping) or not all(isinstance(each, CallerAttribute) for each in caller.values()):
        return "caller must be a mapping of names to CallerAttribute"
    for name, attribute in caller.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return f"the attribute {name!r} of the caller must be small letters, digits and _"
        if name in SUBJECT or name == "groups":
            return f"the caller has an attribute {name!r} already"
        if attribute.type not in (bool, int, str) or type(attribute.strongest) is not attribute.type:
            return f"the attribute {name!r} must be a bool, int or str, and its strongest value, too"
        if attribute.type is str and not attribute.values:
            return f"the attribute {name!r} is a text and needs its values"
        if not callable(attribute.value) or not callable(attribute.challenge):
            return f"the attribute {name!r} needs two functions, value and challenge"
    return None


class Features:
    """The features of an app, or of a command."""

    def __init__(self, features: Iterable[Feature]) -> None:
        self._features = tuple(features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self._features)

    def caller(self) -> dict[str, CallerAttribute]:
        """Returns the attributes of the caller by name."""
        return {name: attribute for feature in self._features for name, attribute in feature.caller.items()}

    def next_steps(self) -> tuple[Callable[[Call, User], None], ...]:
        """Returns the functions that may ask for another step of a login."""
        return tuple(partial(feature.call, feature.next_step) for feature in self._features
                     if feature.next_step is not None)

    def bearers(self) -> tuple[Callable[[Services, str], BearerToken | None], ...]:
        """Returns the functions that may accept a bearer token which Gatepost did not make."""
        return tuple(partial(feature.call, feature.bearer) for feature in self._features
                     if feature.bearer is not None)

    def droppers(self) -> tuple[Callable[[Call, User], Iterable[str]], ...]:
        """Returns the functions that remove credentials of a user whose address is proved for the first time."""
        return tuple(partial(feature.call, feature.drop_credentials) for feature in self._features
                     if feature.drop_credentials is not None)

    def facts(self) -> list[UserFact]:
        """Returns the facts about users. Raises FeatureError, also if two have one name."""
        facts: dict[str, UserFact] = {}
        for feature in self._features:
            for fact in feature.begin("facts") if feature.facts is not None else ():
                if not isinstance(fact, UserFact) or not _NAME.fullmatch(fact.name) or fact.name in facts:
                    raise FeatureError(f"the feature {feature.name!r}: {fact!r} is no fact with a name of its own")
                facts[fact.name] = fact
        return list(facts.values())

    def made(self, services: Services) -> Iterator[tuple[str, object]]:
        """Yields (name of the feature, its object that lives as long as the app). Raises FeatureError."""
        for feature in self._features:
            if feature.make is not None:
                yield feature.name, feature.begin("make", services)

    def background_tasks(self, services: Services) -> Iterator[BackgroundTask]:
        """Yields the background tasks of a process. Raises FeatureError."""
        from .http.operations.background import BackgroundTask

        for feature in self._features:
            for task in feature.begin("background", services) if feature.background is not None else ():
                if not isinstance(task, BackgroundTask) or not isinstance(task.every, int | float) or task.every <= 0:
                    raise FeatureError(f"the feature {feature.name!r}: {task!r} is no background task that runs every "
                                       "so many seconds")
                yield task

    def departures(self, services: Services) -> Iterator[Departure]:
        """Yields the functions that get each response before it is sent. Raises FeatureError."""
        for feature in self._features:
            if feature.departure is not None:
                function = feature.begin("departure", services)
                if function is None:
                    continue
                if not callable(function):
                    raise FeatureError(f"the feature {feature.name!r}: departure returns {function!r}, and no function")
                yield function

    def around(self, settings: Settings) -> dict[str, tuple[Around, ...]]:
        """Returns the context managers around handlers, by their name in the audit log. Raises FeatureError."""
        found: dict[str, tuple[Around, ...]] = {}
        for feature in self._features:
            if feature.around is not None:
                functions = feature.begin("around", settings)
                if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
                    raise FeatureError(f"the feature {feature.name!r}: around returns {functions!r}, "
                                       "and no functions by name")
                for name, function in functions.items():
                    found[name] = (*found.get(name, ()), function)
        return found

    def checks(self, installation: Installation) -> Iterator[tuple[str, Callable[[], CheckResult]]]:
        """Yields (name, check) for health and Prometheus. These checks never raise."""
        for feature in self._features:
            for name, check in feature.checks.items():
                yield name, partial(_answer, feature, name, check, installation)

    def doctor(self, installation: Installation) -> Iterator[tuple[str, Callable[[], CheckResult]]]:
        """Yields (name, check) for `gatepost doctor`. Errors of these checks are passed on."""
        for feature in self._features:
            for name, check in {**feature.checks, **feature.doctor}.items():
                yield name, partial(_result, feature, check, installation)

    def left_out(self, installation: Installation) -> Iterator[tuple[str, Callable[[], CheckResult]]]:
        """Yields (name, check) for `gatepost doctor`, if these features are left out. Errors are passed on."""
        for feature in self._features:
            for name, check in feature.left_out.items():
                yield name, partial(_result, feature, check, installation)

    def section(self, name: str, installation: Installation) -> Iterator[CheckResult]:
        """Yields the findings of one section of `gatepost doctor`. An error becomes a finding."""
        for feature in self._features:
            if (part := feature.sections.get(name)) is not None:
                try:
                    yield from [_finding(each) for each in feature.call(part, installation)]
                except Exception as error:
                    yield CheckResult(State.DOWN, f"{feature.name}: {error}")

    def save(self, installation: Installation, step: str) -> Iterator[Saved]:
        """Makes copies of the installation with each feature that can. Raises CannotSave, RowError, OSError."""
        for feature in self._features:
            if feature.save is not None:
                try:
                    yield Saved(*feature.call(feature.save, installation, step))
                except (CannotSave, RowError, OSError):
                    raise
                except Exception as error:
                    raise CannotSave(f"the feature {feature.name!r} fails: {type(error).__name__}: {error}") from error

    def reencrypt(self, installation: Installation, keys: Keys) -> None:
        """Encrypts what the features store with the key that signs. Raises FeatureError, RowError."""
        for feature in self._features:
            if feature.reencrypt is not None:
                feature.begin("reencrypt", installation, keys)

    def outdated(self, installation: Installation) -> list[str]:
        """Returns lines about what an operator must change before or after an upgrade."""
        return [line for feature in self._features if feature.outdated is not None
                for line in _lines(feature, feature.outdated, installation)]

    def news(self, installation: Installation) -> list[str]:
        """Returns sentences about what an upgrade brought."""
        return [line for feature in self._features if feature.news is not None
                for line in _lines(feature, feature.news, installation)]

    def demo(self, installation: Installation, tenant: Tenant) -> None:
        """Adds demo rows to an empty tenant. Raises FeatureError."""
        for feature in self._features:
            if feature.demo is not None:
                feature.begin("demo", installation, tenant)

    def numbers(self, installation: Installation) -> Iterator[Number]:
        """Yields the numbers for Prometheus. An error of a feature is logged, and its numbers are skipped."""
        names: set[str] = set()
        for feature in self._features:
            if feature.numbers is not None:
                try:
                    numbers = [Number(name, str(about), float(value))
                               for name, about, value in feature.call(feature.numbers, installation)]
                except RowError:
                    continue  # the check of the database reports the same error
                except Exception as error:
                    _log.error("the numbers of %s cannot be computed: %s: %s", feature.name, type(error).__name__,
                               error)
                    continue
                for number in numbers:
                    if not _NUMBER.fullmatch(number.name) or number.name in names:
                        _log.error("the number %r of %s must have a name of its own that begins with gatepost_",
                                   number.name, feature.name)
                    else:
                        names.add(number.name)
                        yield number


def _answer(feature: Feature, name: str, check: Check | str, installation: Installation) -> CheckResult:
    try:
        return _result(feature, check, installation)
    except RowError:
        return UNKNOWN
    except Exception as error:
        _log.error("the check %s fails: %s: %s", name, type(error).__name__, error)
        return CheckResult(State.DEGRADED, f"the check itself fails ({type(error).__name__}): the log says more")


def _result(feature: Feature, check: Check | str, installation: Installation) -> CheckResult:
    return _finding(feature.call(check, installation))


def _finding(result: Any) -> CheckResult:
    """Returns the finding of a check. Raises TypeError or ValueError for anything else."""
    state, detail = result
    return CheckResult(State(state), str(detail))


def _lines(feature: Feature, part: Callable[..., Any] | str, installation: Installation) -> list[str]:
    """Returns the lines of a part. An exception becomes a line, because the upgrade must go on."""
    try:
        return [str(line) for line in feature.call(part, installation)]
    except Exception as error:
        return [f"The feature {feature.name} failed to report: {type(error).__name__}: {error}"]
