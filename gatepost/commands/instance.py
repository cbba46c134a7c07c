"""The instance of a command: its database, its keys, its tenants, and errors as sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import click
from flask import Flask
from marshmallow import ValidationError

from gatepost.collections.plugins import tables
from gatepost.collections.plugins.contents import PluginError
from gatepost.collections.plugins.leaving_out import ignored
from gatepost.commands.context import load_settings, registry
from gatepost.commands.printing import echo
from gatepost.features import FeatureError
from gatepost.http.pipeline.application import NotReady
from gatepost.http.request.call import Services
from gatepost.http.schemas.fields import Name
from gatepost.http.security import known_keys, passwords
from gatepost.http.security.keys import KeyFileError, Keys
from gatepost.instance import journal, leftovers
from gatepost.instance.journal import UnderWay
from models.engine.connect import open_database
from models.engine.database import Database
from models.engine.errors import RowError, TimedOut, Unavailable
from models.migrate import obstacle
from models.tables.audit import add
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import PolicyError
from settings import SettingError, Settings

_OF_A_TABLE = re.compile(r"\b(column|relation|table)\b")  # in what either database says
AppFactory = Callable[..., Flask]
"""`create_app`, which commands get as the object of their context."""

MAKE_ADMINISTRATOR = "Make one: gatepost user add EMAIL --role admin, or gatepost user enable EMAIL"


@dataclass(frozen=True)
class Instance:
    """An instance that exists, with its database connected."""

    settings: Settings
    database: Database

    def tenant(self, name: str | None = None) -> Tenant:
        """The tenant of that name, or the default one."""
        return find_tenant(self.settings, name)

    def keys(self) -> Keys:
        """Its key ring. Raises the sentence for one that is not the database's, or cannot be used."""
        try:
            keys = Keys.load(self.settings.secret_file)
            known_keys.check(self.database, keys)
        except KeyFileError as error:
            raise click.ClickException(str(error)) from error
        return keys

    def record(self, tenant: Tenant, resource: str, action: str, id: str | None = None) -> None:
        """Add what the operator does by a command to the audit trail of a tenant, inside its transaction."""
        record(tenant.id, resource, action, id)

    def user(self, email: str) -> User:
        """The user with that e-mail, of whatever tenant."""
        found = User.by_email(email)
        if found is None:
            raise click.ClickException(f"There is no user {email}.")
        return found


def find_tenant(settings: Settings, name: str | None = None) -> Tenant:
    """The tenant of that name, or the default one; the database is connected."""
    name = name or settings.default_tenant
    found = Tenant.by_name(name)
    if found is None:
        raise click.ClickException(f"There is no tenant {name}. Add it with: gatepost tenant add {name}")
    return found


def record(tenant_id: str, resource: str, action: str, id: str | None) -> None:
    """Add what an operator does by a command to the audit trail, inside its transaction."""
    add(tenant_id=tenant_id, principal="operator", role="operator", resource=resource, action=action,
        resource_id=id, result="allowed", reason="command line")


@contextmanager
def database_of(settings: Settings) -> Iterator[Database]:
    """The database that the settings name, not connected yet; at the end its connections are closed."""
    try:
        database = open_database(
            settings.database_url,
            pool_size=settings.pool_size,
            synchronous=settings.synchronous,
            group_commit=settings.group_commit,
            statement_timeout=settings.statement_timeout,
            reads_copies=True,
            ignored=ignored(settings.without),
        )
    except (ValueError, RuntimeError) as error:
        raise click.ClickException(f"database_url: {error}") from None
    try:
        yield database
    finally:
        database.close_all()


@contextmanager
def open_instance() -> Iterator[Instance]:
    """The instance that the settings name, or a sentence that says what is wrong with it."""
    settings = load_settings()
    settle_restore(settings)
    require_instance(settings)
    with database_of(settings) as database, sentences(database), _told_of_tables(database), database.connected():
        installed = registry()
        if (said := obstacle(database, installed.migrations)) is not None:
            raise click.ClickException(said)
        yield Instance(load_settings(installed.settings), database)


def require_instance(settings: Settings) -> None:
    """Raises the sentence for a folder that holds no instance, or one that has lost its keys."""
    if not settings.secret_file.exists():
        raise click.ClickException(str(known_keys.LostKeys(settings.secret_file)) if is_in_use(settings) else
                                   f"There is no instance in {settings.instance}. Run: gatepost init")


def is_in_use(settings: Settings) -> bool:
    """True if the database that the settings name has tenants, or does not say."""
    path = settings.database_url.removeprefix("sqlite:///")
    if path != settings.database_url and not Path(path).exists():
        return False
    try:
        with database_of(settings) as database, database.connected():
            return database.table_exists("tenants") and bool(Tenant.all())
    except RowError:
        return True


def settle_restore(settings: Settings) -> None:
    """Complete or undo a restore that was broken off, and say so; remove what killed processes have left. Raises the
    sentence about a restore that is under way."""
    try:
        said = journal.settle(settings)
    except (UnderWay, RowError, OSError) as error:
        raise click.ClickException(f"A restore was broken off, and cannot be completed: {error}") from error
    leftovers.remove(settings)
    if said is not None:
        echo(said, err=True)


def lacking(database: Database) -> str | None:
    """Returns what a table lacks for what its collection declares, if one does: the service would not start."""
    try:
        with database.connected():
            tables.check(database, registry().collections.values())
    except PluginError as error:
        return str(error)
    return None


@contextmanager
def _told_of_tables(database: Database) -> Iterator[None]:
    """Raises the sentence about what a table lacks where a driver complains of it: each has errors of its own."""
    try:
        yield
    except Exception as error:
        said = None
        if not isinstance(error, click.ClickException) and _OF_A_TABLE.search(str(error)):
            with suppress(Exception):
                said = lacking(database)
        if said is None:
            raise
        raise click.ClickException(said) from error


@contextmanager
def sentences(database: Database) -> Iterator[None]:
    """Raises the sentence for an error of the database, and for one that only its damage explains."""
    try:
        yield
    except RowError as error:
        said = str(error) if isinstance(error, Unavailable | TimedOut) else f"{type(error).__name__}: {error}"
        raise click.ClickException(said.replace("\t", "")) from error  # psycopg begins lines with one
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        # Damaged bytes may read as a value that no write has stored.
        if (damage := database.examine()) is None:
            raise
        raise click.ClickException(str(damage)) from error


def read_password(file: TextIO, *known: str | None) -> str:
    """A password from a file or standard input, less one final newline. Raises a sentence when it is weak.

    `known` is what an attacker knows of the account: its name and e-mail address.
    """
    password = file.read().removesuffix("\n").removesuffix("\r")
    if problem := passwords.objection(password, *known):
        raise click.ClickException(problem)
    return password


def read_name(text: str) -> str:
    """Returns a name of an option as the API stores it. Raises ClickException."""
    try:
        name: str = Name().deserialize(text)
    except ValidationError as error:
        raise click.ClickException(str(error.messages[0])) from None
    return name


def hash_password(password: str) -> str:
    """Returns the hash of a password. Raises ClickException where there is no memory to compute it."""
    try:
        return passwords.hash_password(password)
    except passwords.CannotHash as error:
        raise click.ClickException(f"The password cannot be hashed: {error}.") from error


def app_for(create_app: AppFactory, *, serves: bool = False, **options: Any) -> Flask:
    """The app, or the sentence that says why it cannot start. One that does not serve may read a copy that cannot be
    written to."""
    try:
        return create_app({name: value for name, value in options.items() if value is not None},
                          reads_copies=not serves)
    except (SettingError, KeyFileError, PluginError, FeatureError, PolicyError, UnderWay, NotReady, RowError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def services_for(create_app: AppFactory) -> Iterator[Services]:
    """Services of an app, for a command that serves nothing; stopped at the end."""
    services: Services = app_for(create_app).extensions["gatepost"]
    try:
        yield services
    finally:
        services.stop()
