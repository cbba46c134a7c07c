"""Installation of an instance, step by step. Every step is atomic, and is skipped if it is done.

So a second run changes nothing, and completes a run that was killed. Two runs at once wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from gatepost.features import Features, Installation
from gatepost.http.security import known_keys, passwords
from gatepost.http.security.keys import Keys, create_key_file
from gatepost.http.security.known_keys import LostKeys
from gatepost.rules.change import Changing, InFiles
from gatepost.rules.exported import Export, packaged_of, texts_of
from models.base import Rows
from models.engine.database import Database
from models.engine.errors import AlreadyExists
from models.migrate import pending, upgrade
from models.scratch import scratch
from models.tables.policy_version import PolicyVersion, newest
from models.tables.tenant import Tenant
from models.tables.user import User
from policies.loading.loader import CASES_FILE
from settings import Settings
from settings.declared import DATABASE

if TYPE_CHECKING:
    from gatepost.collections.registry import Registry

NOT_COPIED = {CASES_FILE}  # the cases test the shipped files; administrators write their own


@dataclass
class Outcome:
    """The result of `install`. `password` is set if it generated one, which is stored nowhere else."""

    done: list[str] = field(default_factory=list)
    email: str | None = None
    password: str | None = None


def install(
    settings: Settings, database: Database, installed: Registry, *, email: str, password: str | None, demo: bool,
    new_key: bool = False,
) -> Outcome:
    """Creates or completes the instance. With `new_key`, the database may belong to other keys.

    Raises OSError, `RowError`, `CannotHash`, `KeyFileError`.
    """
    outcome = Outcome()
    with _locked(settings.instance):
        in_use = _in_use(database, settings.default_tenant)
        if in_use and not new_key and not settings.secret_file.exists():
            raise LostKeys(settings.secret_file)
        if create_key_file(settings.secret_file):
            outcome.done.append("secret key")
        if in_use and new_key:
            _adopt(database, Keys.load(settings.secret_file))
            outcome.done.append("keys for the database")
        stored = _stored_policy(settings, database) if in_use else None
        copied = _copy_policies(settings.policies, () if stored else (".conf", ".csv"))
        if copied:
            outcome.done.append("policies")
        if stored is not None:
            Export(settings.policies, {}).write(stored.version, texts_of(stored), packaged_of(stored), new=True)
        # Its operator migrates an instance in use, with `gatepost migrate`.
        if not in_use:
            upgrade(database, installed.migrations)
            new_password = password or secrets.token_urlsafe(15)
            if _populate(database, settings, installed.features, email, new_password, demo):
                outcome.done.append("database")
                outcome.email, outcome.password = email, None if password else new_password
        _begin_history(settings, database, installed, copied)
    return outcome


def _begin_history(settings: Settings, database: Database, installed: Registry, copied: bool) -> None:
    """Adds the copied policy to the policy history, so that it can be restored.

    A policy in the database gets its first version when the service first starts.
    """
    with database.connected():
        tenant = None if pending(database) else Tenant.by_name(settings.default_tenant)
    if tenant is not None:
        changing = Changing.of(settings, installed, database, tenant.id)
        if isinstance(changing, InFiles):
            changing.begin_history(shipped=copied)


def _adopt(database: Database, keys: Keys) -> None:
    # A database of an older version has no table for keys. `gatepost migrate` adds it.
    with database.connected():
        if database.table_exists("instance"):
            known_keys.adopt(database, keys)


def _in_use(database: Database, tenant_name: str) -> bool:
    """True if the database has its first tenant. Creating it is the last step of an installation."""
    database.create()
    with database.connected():
        return database.table_exists("tenants") and Tenant.by_name(tenant_name) is not None


@contextmanager
def _locked(instance: Path) -> Iterator[None]:
    """Locks the instance folder during the block. The lock ends with the process."""
    with suppress(FileExistsError):
        instance.mkdir(mode=0o700, parents=True)
    descriptor = os.open(instance, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _stored_policy(settings: Settings, database: Database) -> PolicyVersion | None:
    """Returns the newest policy version in the database; None if there is none, or if the rules are in files."""
    if settings.policy_source != DATABASE:
        return None
    with database.connected():
        # The table of an older version may lack a column, so it is not read before the migrations.
        return newest() if not pending(database) else None


def _copy_policies(target: Path, suffixes: Collection[str]) -> bool:
    """Copies the guide and the shipped policy files with these suffixes, all of them or none. False if they exist."""
    if target.exists():
        return False
    with scratch(target.parent) as fresh, as_file(files("policies")) as shipped:
        for file in sorted(shipped.iterdir()):
            if file.suffix in (".md", *suffixes) and file.name not in NOT_COPIED:
                shutil.copyfile(file, fresh / file.name)
        fresh.rename(target)
    return True


def _populate(database: Database, settings: Settings, features: Features, email: str, password: str, demo: bool
              ) -> bool:
    """Creates the first tenant, its administrator and the demo rows in one transaction. False if there is a tenant."""
    hashed = passwords.hash_password(password)

    def work() -> bool:
        if Tenant.by_name(settings.default_tenant) is not None:
            return False
        tenant = Tenant.add(settings.default_tenant)
        administrator = User(name="Administrator", email=email, role="admin", password_hash=hashed)
        Rows(User, tenant.id).insert(administrator)
        if demo:
            features.demo(Installation(settings, database), tenant)
        return True

    try:
        return database.transact(work)
    except AlreadyExists:
        # Another node has just created the same tenant in the same database.
        return False
