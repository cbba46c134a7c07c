"""The migration that adds verified addresses keeps the password links of before."""

from __future__ import annotations

import shutil
from pathlib import Path

import peewee as pw
import pytest

from models.base import later, new_id, now
from models.engine.connect import open_database
from models.engine.database import Database
from models.migrate import SHIPPED, upgrade
from models.tables.password_link import PasswordLink
from models.tables.tenant import Tenant
from tests.databases import new_database


def insert(database: Database, table: str, row: dict[str, object]) -> None:
    """Stores a row by its old columns, which the class of the table does not have any more."""
    columns = {f'"{name}"': pw.Value(value, converter=False) for name, value in row.items()}
    names = ", ".join(columns)
    database.execute(pw.NodeList((pw.SQL(f"INSERT INTO {table} ({names}) VALUES"),
                                  pw.EnclosedNodeList(list(columns.values())))))


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_link_of_before_stays_valid(dialect: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    database = open_database(new_database(dialect, request, migrated=False), pool_size=2, synchronous="normal",
                             statement_timeout=30)
    before = tmp_path / "before"
    before.mkdir()
    for file in sorted(SHIPPED["gatepost"].glob("0*.py")):
        if file.name < "0039":
            shutil.copy(file, before)
    upgrade(database, {"gatepost": before})
    with database.connected():
        made, tenant, id = now(), new_id(), new_id()
        Tenant.insert(id=tenant, name="owls", created_at=made).execute()
        row = {"id": id, "tenant_id": tenant, "version": 1, "created_at": made, "updated_at": made, "owner_id": id}
        insert(database, "users", {**row, "name": "Ann", "email": "ann@example.org", "password_hash": "!",
                                   "role": "user", "groups": "[]", "active": True, "token_version": 1})
        insert(database, "password_links", {**row, "id": new_id(), "token_hash": "h", "user_version": 1,
                                            "expires_at": later(60)})
    upgrade(database)
    with database.connected():
        user = PasswordLink.user_of("h")
        assert user is not None
        assert (user.id, user.email_verified_at) == (id, None)
        [link] = PasswordLink.select()
        assert (link.mailed, link.maker_id) == (False, None)
        assert database.transact(lambda: PasswordLink.take("h")) is not None
    database.close_all()
