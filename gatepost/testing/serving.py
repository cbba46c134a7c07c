"""An app on its own instance, and callers who are logged in to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from gatepost.collections.plugins.contents import Plugin, modules_of, serves
from gatepost.collections.plugins.declarations import settings_of
from gatepost.collections.plugins.discovery import discover
from gatepost.commands.install import install
from gatepost.http.request.call import Services
from gatepost.http.security import passwords
from gatepost.jobs.hooks import Hook, tick_of
from models.base import Rows, later, new_id
from models.engine.connect import open_database
from models.tables.job import Job, enqueue
from models.tables.session import Session
from models.tables.tenant import Tenant
from models.tables.user import User
from policies.syntax.conditions import branches_of, with_branches
from policies.syntax.model import MODEL_FILE
from policies.wording.suggestions import hint
from settings import Setting, Settings

ABSENT: Any = object()
_numbers = count(1)


@dataclass
class Caller:
    """A caller of the app, with their credentials; `user` is None for a guest."""

    client: FlaskClient
    user: User | None = None
    token: str | None = None

    @property
    def id(self) -> str:
        """The user's id."""
        assert self.user is not None, "a guest has no id"
        return self.user.id

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    def call(self, method: str, path: str, body: Any = ABSENT, headers: Mapping[str, str] | None = None,
             **more: Any) -> TestResponse:
        """Sends one request and reads the whole answer; `body` is sent as JSON, `more` goes to werkzeug's client."""
        if body is not ABSENT:
            more["json"] = body
        more.setdefault("buffered", True)  # an export that is not closed counts as one being sent
        return self.client.open(path, method=method, headers={**self.headers, **(headers or {})}, **more)

    def get(self, path: str, **more: Any) -> TestResponse:
        return self.call("GET", path, **more)

    def post(self, path: str, body: Any = ABSENT, **more: Any) -> TestResponse:
        return self.call("POST", path, body, **more)

    def put(self, path: str, body: Any = ABSENT, **more: Any) -> TestResponse:
        return self.call("PUT", path, body, **more)

    def patch(self, path: str, body: Any = ABSENT, **more: Any) -> TestResponse:
        return self.call("PATCH", path, body, **more)

    def delete(self, path: str, **more: Any) -> TestResponse:
        return self.call("DELETE", path, **more)


def log_in(app: Flask, who: User | str, *, tenant: str = "default", scope: str = "*", **values: Any) -> Caller:
    """Returns a logged-in caller: an existing user, or a new user with the role `who`. The session needs no password.

    `values` are columns of the new user, such as `department`, `groups` and `name`. Raises TypeError for an unknown
    column, and for values of an existing user.
    """
    unknown = next((name for name in values if name not in User._meta.fields), None)
    if values and (unknown is not None or not isinstance(who, str)):
        raise TypeError("log_in takes values of a user who is made up from a role" if unknown is None else
                        f"a user has no {unknown!r}{hint(unknown, User._meta.fields)}")
    services: Services = app.extensions["gatepost"]

    def work() -> tuple[User, Session]:
        user = _new_user(who, tenant, values) if isinstance(who, str) else who
        id = new_id()
        return user, Rows(Session, user.tenant_id).insert(Session(
            id=id, owner_id=user.id, family=id, token_hash=new_id(), expires_at=later(86_400),
            absolute_expires_at=later(86_400)))

    user, session = services.database.transact(work)
    with app.app_context():
        token = services.access_tokens.issue(user, session.id, [], scope)
    return Caller(app.test_client(), user, token)


def _new_user(role: str, tenant: str, values: Mapping[str, Any]) -> User:
    home = Tenant.by_name(tenant) or Tenant.add(tenant)
    defaults = {"name": role, "email": f"{role}{next(_numbers)}@plugin.example.org",
                "password_hash": passwords.UNUSABLE}
    return Rows(User, home.id).insert(User(**{**defaults, "role": role, **values}))


def run_jobs(app: Flask, *ticked: Hook) -> int:
    """Runs all due jobs, those of `@on` and `@every` included, and returns their number.

    `ticked` are `@every` functions that then run in each tenant as if their next tick had come. Raises AssertionError
    with the errors of failed jobs.
    """
    services: Services = app.extensions["gatepost"]
    number = services.jobs.run_due()
    for hook in ticked:
        assert hook.every, f"{hook.name} is not run by the clock"
        services.database.transact(partial(_tick, hook))
    number += services.jobs.run_due() if ticked else 0
    with services.database.connected():
        wrong = [job for job in Job.newest(number) if job.last_error]
    assert not wrong, "\n".join(f"{job.kind} ({job.state}): {job.last_error}" for job in wrong)
    return number


def _tick(hook: Hook) -> None:
    for tenant in Tenant.all():
        enqueue(tenant.id, hook.name, {"tick": tick_of(hook.every, datetime.now(UTC))})


def by_known_names(chosen: Mapping[str, Any], plugins: Iterable[Plugin],
                    settings_by_plugin: Mapping[str, Mapping[str, Setting[Any]]]) -> dict[str, Any]:
    """Returns the settings with each plugin's table under its served name: an entry point's name if it is installed.

    Raises AssertionError for a table of settings that belongs to no plugin.
    """
    served = {name: declared for plugin in plugins for name, declared in settings_by_plugin.items()
              if not frozenset(declared.values()).isdisjoint(settings_of(modules_of(plugin)))}
    renamed = {}
    for name_of_table, value in chosen.items():
        fits = [name_of_table]
        if isinstance(value, Mapping) and name_of_table not in settings_by_plugin:
            fits = [name for name, declared in served.items() if value.keys() <= declared.keys()]
            assert len(fits) == 1, (f"{name_of_table}={dict(value)!r}: no plugin here has the settings; known are "
                                    f"{', '.join(f'{name}.{one}' for name in served for one in served[name])}")
        renamed[fits[0]] = value
    return renamed


def served(create_app: Callable[..., Flask], *plugins: Plugin, **settings: Any) -> Any:
    """Returns a pytest fixture to assign to `app`: `create_app` on a new SQLite instance, for one module of tests.

    plugins   collections, modules or packages, as in an entry point; they need not be installed
    settings  Gatepost's settings by name, and tables of plugins: `notes={"limit": 3}`, by the name of the entry point
              or of the module

    The instance's model.conf includes the conditions that the plugins declare. Jobs run only when a test calls
    `run_jobs`.
    """

    @pytest.fixture(scope="module")
    def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
        folder = tmp_path_factory.mktemp("served") / "instance"
        chosen = {"instance": folder, "database_url": f"sqlite:///{folder / 'gatepost.db'}", "rate_limits": "off",
                  "synchronous": "normal", "run_jobs": "off", **settings}
        installed = discover()
        extra = [plugin for plugin in plugins if not serves(installed, plugin)]
        registry = discover(extra)
        chosen = by_known_names(chosen, plugins, registry.settings)
        loaded = Settings.load(overrides=chosen, plugins=registry.settings)
        database = open_database(loaded.database_url, pool_size=1, synchronous="normal", statement_timeout=10)
        install(loaded, database, registry, email="admin@example.org",
                password="only for these tests", demo=False)
        database.close_all()
        model = loaded.policies / MODEL_FILE
        kept = discover(extra, loaded.without)
        branches = branches_of(kept.functions.values(), kept.conditions.values()).values()
        model.write_text(with_branches(model.read_text(encoding="utf-8"), branches), encoding="utf-8")
        made = create_app(chosen, extra)
        yield made
        made.extensions["gatepost"].stop()

    return app
