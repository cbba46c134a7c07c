"""The instance of a command: database, keys, tenants. Errors are raised as ClickException with a sentence."""

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

_OF_A_TABLE = re.compile(r"\b(column|relation|table)\b")  # in error messages of both databases
AppFactory = Callable[..., Flask]
"""The type of `create_app`, which commands get as the object of their context."""

MAKE_ADMINISTRATOR = "Make one: gatepost user add EMAIL --role admin, or gatepost user enable EMAIL"


@dataclass(frozen=True)
class Instance:
    """An existing instance, with its database connected."""

    settings: Settings
    database: Database

    def tenant(self, name: str | None = None) -> Tenant:
        """Returns the tenant of that name; None: the default one. Raises ClickException."""
        return find_tenant(self.settings, name)

    def keys(self) -> Keys:
        """Returns the key ring. Raises ClickException if it cannot be used or belongs to another database."""
        try:
            keys = Keys.load(self.settings.secret_file)
            known_keys.check(self.database, keys)
        except KeyFileError as error:
            raise click.ClickException(str(error)) from error
        return keys

    def record(self, tenant: Tenant, resource: str, action: str, id: str | None = None) -> None:
        """Adds an audit event of the operator to a tenant's audit log, in the current transaction."""
        record(tenant.id, resource, action, id)

    def user(self, email: str) -> User:
        """Returns the user with that e-mail address, in any tenant. Raises ClickException."""
        user = User.by_email(email)
        if user is None:
            raise click.ClickException(f"There is no user {email}.")
        return user


def find_tenant(settings: Settings, name: str | None = None) -> Tenant:
    """Returns the tenant of that name; None: the default one. The database must be connected. Raises ClickException."""
    name = name or settings.default_tenant
    tenant = Tenant.by_name(name)
    if tenant is None:
        raise click.ClickException(f"There is no tenant {name}. Add it with: gatepost tenant add {name}")
    return tenant


def record(tenant_id: str, resource: str, action: str, id: str | None) -> None:
    """Adds an audit event of the operator, in the current transaction."""
    add(tenant_id=tenant_id, principal="operator", role="operator", resource=resource, action=action,
        resource_id=id, result="allowed", reason="command line")


@contextmanager
def database_of(settings: Settings) -> Iterator[Database]:
    """Opens the database of the settings without connecting; closes its connections at the end."""
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
    """Opens the instance of the settings. Raises ClickException if it cannot be used."""
    settings = load_settings()
    settle_restore(settings)
    require_instance(settings)
    with database_of(settings) as database, sentences(database), _table_errors(database), database.connected():
        installed = registry()
        if (reason := obstacle(database, installed.migrations)) is not None:
            raise click.ClickException(reason)
        yield Instance(load_settings(installed.settings), database)


def require_instance(settings: Settings) -> None:
    """Raises ClickException if the folder has no instance, or if the instance has lost its keys."""
    if not settings.secret_file.exists():
        raise click.ClickException(str(known_keys.LostKeys(settings.secret_file)) if is_in_use(settings) else
                                   f"There is no instance in {settings.instance}. Run: gatepost init")


def is_in_use(settings: Settings) -> bool:
    """True if the database has tenants, or if it cannot be read."""
    path = settings.database_url.removeprefix("sqlite:///")
    if path != settings.database_url and not Path(path).exists():
        return False
    try:
        with database_of(settings) as database, database.connected():
            return database.table_exists("tenants") and bool(Tenant.all())
    except RowError:
        return True


def settle_restore(settings: Settings) -> None:
    """Completes or undoes an interrupted restore, prints that, and removes temporary files of killed processes.

    Raises ClickException if a restore is running, or cannot be completed.
    """
    try:
        report = journal.settle(settings)
    except (UnderWay, RowError, OSError) as error:
        raise click.ClickException(f"A restore was broken off, and cannot be completed: {error}") from error
    leftovers.remove(settings)
    if report is not None:
        echo(report, err=True)


def lacking(database: Database) -> str | None:
    """Describes the first column or index that a collection's table lacks; None if there is none.

    The service does not start without it.
    """
    try:
        with database.connected():
            tables.check(database, registry().collections.values())
    except PluginError as error:
        return str(error)
    return None


@contextmanager
def _table_errors(database: Database) -> Iterator[None]:
    """Raises ClickException with the missing column or index if a driver's error is about a table."""
    try:
        yield
    except Exception as error:
        reason = None
        if not isinstance(error, click.ClickException) and _OF_A_TABLE.search(str(error)):
            with suppress(Exception):
                reason = lacking(database)
        if reason is None:
            raise
        raise click.ClickException(reason) from error


@contextmanager
def sentences(database: Database) -> Iterator[None]:
    """Raises ClickException for an error of the database, and for an error that a damaged database explains."""
    try:
        yield
    except RowError as error:
        text = str(error) if isinstance(error, Unavailable | TimedOut) else f"{type(error).__name__}: {error}"
        raise click.ClickException(text.replace("\t", "")) from error  # psycopg begins lines with a tab
    except (TypeError, ValueError, AttributeError, LookupError) as error:
        # A damaged database may return values that no write has stored.
        if (damage := database.examine()) is None:
            raise
        raise click.ClickException(str(damage)) from error


def read_password(file: TextIO, *context: str | None) -> str:
    """Reads a password from a file or standard input, without the final newline. Raises ClickException if it is weak.

    `known` are the account's name and e-mail address, which an attacker may know.
    """
    password = file.read().removesuffix("\n").removesuffix("\r")
    if problem := passwords.objection(password, *context):
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
    """Returns the hash of a password. Raises ClickException if there is too little memory to compute it."""
    try:
        return passwords.hash_password(password)
    except passwords.CannotHash as error:
        raise click.ClickException(f"The password cannot be hashed: {error}.") from error


def app_for(create_app: AppFactory, *, serves: bool = False, **options: Any) -> Flask:
    """Creates the app. Raises ClickException if it cannot start.

    Without `serves`, the database may be a read-only copy.
    """
    try:
        return create_app({name: value for name, value in options.items() if value is not None},
                          reads_copies=not serves)
    except (SettingError, KeyFileError, PluginError, FeatureError, PolicyError, UnderWay, NotReady, RowError) as error:
        raise click.ClickException(str(error)) from error


@contextmanager
def services_for(create_app: AppFactory) -> Iterator[Services]:
    """Creates an app for a command that serves no requests; stops its services at the end."""
    services: Services = app_for(create_app).extensions["gatepost"]
    try:
        yield services
    finally:
        services.stop()
