"""Making an instance, step by step. Every step is whole or not at all, and asks first whether it is done.

So a second run changes nothing, a run that was killed is completed by the next, and of two at once the
second waits for the first.
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

NOT_COPIED = {CASES_FILE}  # cases of the shipped files; an administrator writes their own


@dataclass
class Outcome:
    """What `install` did. `password` is set when it made one up: it is kept nowhere else."""

    done: list[str] = field(default_factory=list)
    email: str | None = None
    password: str | None = None


def install(
    settings: Settings, database: Database, installed: Registry, *, email: str, password: str | None, demo: bool,
    new_key: bool = False,
) -> Outcome:
    """Make or complete the instance that `settings` name. `new_key`: its database may be one that knows other keys.

    Raises OSError, `RowError`, `CannotHash`, `KeyFileError`.
    """
    outcome = Outcome()
    with _alone(settings.instance):
        in_use = _in_use(database, settings.default_tenant)
        if in_use and not new_key and not settings.secret_file.exists():
            raise LostKeys(settings.secret_file)
        if create_key_file(settings.secret_file):
            outcome.done.append("secret key")
        if in_use and new_key:
            _adopt(database, Keys.load(settings.secret_file))
            outcome.done.append("keys for the database")
        theirs = _stored_policy(settings, database) if in_use else None
        copied = _copy_policies(settings.policies, () if theirs else (".conf", ".csv"))
        if copied:
            outcome.done.append("policies")
        if theirs is not None:
            Export(settings.policies, {}).write(theirs.version, texts_of(theirs), packaged_of(theirs), new=True)
        # An instance in use is migrated by `gatepost migrate`, when its operator says so.
        if not in_use:
            upgrade(database, installed.migrations)
            chosen = password or secrets.token_urlsafe(15)
            if _populate(database, settings, installed.features, email, chosen, demo):
                outcome.done.append("database")
                outcome.email, outcome.password = email, None if password else chosen
        _begin_history(settings, database, installed, copied)
    return outcome


def _begin_history(settings: Settings, database: Database, installed: Registry, copied: bool) -> None:
    """Write the policy down that was copied, so that it can be reverted to. One in the database begins with the first
    start, on the files that there are then."""
    with database.connected():
        tenant = None if pending(database) else Tenant.by_name(settings.default_tenant)
    if tenant is not None:
        changing = Changing.of(settings, installed, database, tenant.id)
        if isinstance(changing, InFiles):
            changing.begin_history(shipped=copied)


def _adopt(database: Database, keys: Keys) -> None:
    # A database of before knows no keys: it is asked for them once it is migrated.
    with database.connected():
        if database.table_exists("instance"):
            known_keys.adopt(database, keys)


def _in_use(database: Database, tenant_name: str) -> bool:
    """Whether the database got as far as its first tenant, which comes last."""
    database.create()
    with database.connected():
        return database.table_exists("tenants") and Tenant.by_name(tenant_name) is not None


@contextmanager
def _alone(instance: Path) -> Iterator[None]:
    """Hold the folder itself, so that two runs do not interleave; a killed one leaves nothing locked."""
    with suppress(FileExistsError):
        instance.mkdir(mode=0o700, parents=True)
    descriptor = os.open(instance, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _stored_policy(settings: Settings, database: Database) -> PolicyVersion | None:
    """The policy that other nodes of the instance have in force already."""
    if settings.policy_source != DATABASE:
        return None
    with database.connected():
        # A database of before that has such a table is migrated first: it may lack a column.
        return newest() if not pending(database) else None


def _copy_policies(target: Path, suffixes: Collection[str]) -> bool:
    """Copy the guide and the shipped policy files with these suffixes; they appear together, under their final name, or
    not at all."""
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
    """The first tenant, its administrator and some rows to look at, in one transaction."""
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
        # another node made the same tenant in the same database meanwhile
        return False
