"""The audit log: rows are only added. The database itself refuses to change them or to delete them early."""

from __future__ import annotations

import peewee as pw
import pytest

from models.base import is_id, later, new_id, now, parse_time
from models.engine.database import Database
from models.paging import Key, Shape, sort_order, walk
from models.tables import audit
from models.tables.audit import Audit, Retention, Seal
from models.tables.tenant import Tenant

pytestmark = pytest.mark.both_databases

LONG_AGO = "2001-01-01T00:00:00.000000Z"


@pytest.fixture
def tenant(database: Database) -> str:
    return Tenant.add(f"tenant {new_id()}").id


def entry(tenant_id: str, **values: object) -> Audit:
    return Audit(**{"tenant_id": tenant_id, "principal": "guest", "role": "guest", "action": "article.view",
                    "resource": "article", "result": "refused", **values})


def of(tenant_id: str) -> list[Audit]:
    return list(audit.of_tenant(tenant_id).order_by(Audit.seq))


def test_rows_are_stored_in_order_with_and_without_their_optional_columns(tenant: str) -> None:
    made = [entry(tenant), entry(tenant, resource_id=new_id(), count=7, rule="articles.csv:3"), entry(tenant)]
    assert audit.append(made) == 3
    found = of(tenant)
    assert [row.id for row in found] == [row.id for row in made]
    assert [row.count for row in found] == [1, 7, 1]
    assert [row.seq for row in found] == sorted({row.seq for row in found})


@pytest.mark.parametrize("values", [
    {}, {"count": 3, "time": LONG_AGO}, {"reason": "100 %s %(id)s ? :id'; --", "address": "naïve 🦉", "rule": ""},
    {"resource_id": "01a1fe94-b973-726e-83ee-cfdf72fcdc34", "policy_version": None, "request_id": "null"}])
def test_a_row_is_stored_alike_alone_and_among_many(values: dict[str, object], tenant: str) -> None:
    row = entry(tenant, **values)
    audit.append([row])
    audit.add(**{name: value for name, value in row.__data__.items() if name not in ("id", "seq")})
    among, alone = ({name: value for name, value in found.__data__.items() if name not in ("id", "seq")}
                    for found in of(tenant))
    assert among == alone


def test_what_is_left_out_of_a_row_is_null_but_for_id_time_and_count(tenant: str) -> None:
    audit.add(**{name: value for name, value in entry(tenant).__data__.items() if name != "count"})
    row, = of(tenant)
    assert is_id(row.id) and parse_time(row.time) == row.time and row.count == 1
    assert (row.resource_id, row.reason, row.rule) == (None, None, None)


def test_the_origins_of_a_principal_are_those_of_its_latest_logins(
        tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    login = {"resource": "session", "action": "create", "result": "allowed", "principal": "user:1"}
    audit.append([entry(tenant, **{**login, **values}) for values in (
        {"address": "192.0.2.1", "time": LONG_AGO}, {"address": "192.0.2.2"}, {"address": "192.0.2.2"},
        {"address": "192.0.2.3", "time": later(60)}, {"address": None}, {"address": "192.0.2.4", "result": "failed"},
        {"address": "192.0.2.5", "action": "refresh"}, {"address": "192.0.2.6", "resource": "article"},
        {"address": "192.0.2.7", "principal": "user:2"})])
    assert audit.origins(tenant, "user:1", later(-60)) == {"192.0.2.2", "192.0.2.3"}
    monkeypatch.setattr(audit, "ORIGINS", 1)
    assert audit.origins(tenant, "user:1", later(-60)) == {"192.0.2.3"}


def test_a_list_for_two_reasons_has_the_rows_of_both_once(tenant: str, database: Database) -> None:
    """Such a list looks its rows up by id, which is not the primary key of this table."""
    audit.append([entry(tenant, principal=principal, resource=resource)
                  for principal in ("guest", "user:1") for resource in ("article", "page")])
    shape = Shape(Audit, (Audit.principal, Audit.resource), sort_order(Key(Audit.time)), (Audit.tenant_id == tenant,),
                  (Audit.principal == "guest", Audit.resource == "article"))
    assert sorted(walk(database, shape, {}, size=10).rows) == [
        ("guest", "article"), ("guest", "page"), ("user:1", "article")]


def test_no_row_can_be_changed(tenant: str) -> None:
    audit.append([entry(tenant)])
    with pytest.raises(pw.PeeweeException, match="never changed|append-only"):
        Audit.update({Audit.result: "allowed"}).where(Audit.tenant_id == tenant).execute()
    assert of(tenant)[0].result == "refused"


@pytest.mark.parametrize("statement", [
    "DELETE FROM audit", "DELETE FROM audit_seals", "UPDATE audit_seals SET head = ''"])
def test_no_row_can_be_dropped_before_its_time(statement: str, tenant: str, database: Database) -> None:
    audit.append([entry(tenant)])
    seal = {"first_seq": 1, "last_seq": of(tenant)[0].seq, "rows": 1, "previous": new_id(), "head": "x",
            "created_at": now()}
    Seal.insert(seal).execute()
    with pytest.raises(pw.PeeweeException, match="never|append-only"):
        database.execute_sql(statement)
    assert len(of(tenant)) == 1


def test_replacing_a_row_is_refused_too(tenant: str, database: Database) -> None:
    audit.append([entry(tenant)])
    seq = of(tenant)[0].seq
    if database.dialect == "postgres":
        with pytest.raises(pw.PeeweeException, match="append-only"):
            database.execute_sql("TRUNCATE audit")
        return
    with pytest.raises(pw.PeeweeException, match="never"):
        Audit.replace({**of(tenant)[0].__data__, "seq": seq, "result": "allowed"}).execute()


def test_without_a_retention_nothing_is_dropped(tenant: str, database: Database) -> None:
    audit.append([entry(tenant, time=LONG_AGO)])

    def work() -> None:
        Retention.delete().execute()
        database.execute_sql("DELETE FROM audit")

    with pytest.raises(pw.PeeweeException, match="never|append-only"):
        database.transact(work)
    assert len(of(tenant)) == 1


def test_a_tenant_sees_its_own_rows(tenant: str) -> None:
    other = Tenant.add(f"other {new_id()}").id
    audit.append([entry(other)])
    assert of(tenant) == []
