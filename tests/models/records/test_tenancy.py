"""Tenants are isolated by design: every query starts in `Rows`, which always names the tenant."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator

import apsw
import peewee as pw
import psycopg
import pytest

from models import tables as tables_room
from models.base import Owned, Record, Rows, Table, new_id, now
from models.engine.database import Database
from models.engine.errors import RowError
from models.tables.comment import Comment
from models.tables.policy_version import PolicyHistory
from tests.running import ROOT, SERVICE

STARTERS = {
    "select", "update", "delete", "delete_instance", "delete_by_id", "insert", "insert_many", "insert_from",
    "replace", "replace_many", "create", "bulk_create", "bulk_update", "save", "get", "get_or_none",
    "get_by_id", "set_by_id", "get_or_create", "filter", "raw", "noop", "truncate_table",
}
# What may cross tenants, each with its reason in a comment beside it. A new one is a decision, made here by
# hand.
CROSSING = {
    "audit._adding", "audit.of_tenant", "audit.of_all", "audit.newest_time", "audit.unsealed", "session.live",
    "audit.append_missing",  # each row names its tenant
    "seals.seal", "seals.verify", "seals.heads", "seals.proof_of", "seals.retire", "seals._last",
    "seals._newest", "seals._forget_seals", "sealed_rows._between",  # the chain is one for all tenants
    "sealed_rows._erase",  # of the row that the caller names
    "instance.the_instance", "instance.note_fingerprint", "instance.beat", "instance.policy_is_in_database",
    "instance.note_policy_in_database", "instance.rule_set", "instance.note_rule_set",
    "backup.note_made", "backup.note_error", "backup.note_proof", "backup.ages", "backup._newest_scheduled",
    "backup.begin_requested", "backup.newest", "backup.lose",
    "backup.known", "backup.remember", "backup.remember_file", "seals.has_seal_of",
    "restored.end_what_was_under_way", "restored._end_sessions", "restored._fail_jobs",
    "restored.release_tokens",  # one instance has all tenants
    "erasure.begin", "erasure.end", "erasure.note", "erasure._begun", "erasure.begun_among", "erasure.erasures",
    "erasure.unfinished",
    "node.report", "node.leave", "node.alive",  # one database has all tenants
    "traces.events_naming", "traces.events_about", "traces._events_within", "traces.newest_number", "traces.done_by",
    "traces._all",
    "traces.forget_in_answers", "traces.files_naming", "traces.drop_files", "traces.delete_all",
    "traces.count",  # of one user
    "category.hold_tree",  # locks the tenant's own row
    "deprecated_use.note_use",  # each row names its tenant
    "job.Job.by_id", "job.Job.newest", "job._backlog", "job.Job.purge",  # for operators
    "job_chunk.JobChunk.purge", "job_chunk.sweep", "job_chunk._delete",  # by age, or because the job is missing
    "job_queue._due", "job_queue._update", "job_queue.asked_to_stop",  # a process runs the jobs of all tenants
    "rows.Rows.select", "rows.Rows.change", "rows.Rows.remove", "rows.expire", "rows._find", "rows._find_by",
    "rows._find_all", "rows._insert", "rows._save", "rows._add", "rows._delete", "rows._discard",
    "password_link.PasswordLink.user_of", "password_link.PasswordLink.take",  # the token names the user
    "password_link.PasswordLink.is_mailed",
    "passkey.Passkey.by_credential",  # a passkey names its user
    "email_verification.EmailVerification.user_of", "email_verification.EmailVerification.take",
    "identity.Identity.find", "provider_message.ProviderMessage.by_id", "provider_message.ProviderMessage.same",
    "provider_message.ProviderMessage.owners",
    # a provider knows no tenants
    "login_challenge.LoginChallenge.user_of", "login_challenge.LoginChallenge.count_try",
    "login_challenge.LoginChallenge.take", "login_challenge.LoginChallenge.notes",  # the token names the user
    "second_factor.SecondFactor.confirmed", "identity.Identity.number",  # for operators
    "second_factor.SecondFactor.owners", "passkey.numbers_of", "identity.issuers_of",  # reviews of all tenants
    "second_factor.SecondFactor.each", "second_factor.SecondFactor.renew_secret",  # keys and checks of all tenants
    "service_token.ServiceToken.by_id", "service_token._bearer", "service_token.ServiceToken.touch",
    "service_token.ServiceToken.valid", "service_token.ServiceToken.held",
    "policy_version.append", "policy_version.listed", "policy_version.unreported", "policy_version.by_number",
    "policy_version.tell", "policy_version.purge", "policy_use.note_uses", "policy_use.used_since",
    "policy_use.counted_since", "policy_use.purge",  # one policy for all tenants
    "demo_row.mark", "demo_row.marks", "demo_row.unmark", "demo_row.ids_of",  # each takes the tenant
    "activity.note_requests", "activity.counted_since", "activity.purge",  # one service for all tenants
    "tenant.Tenant.oldest",  # as old as the instance
    "reviews._accounts", "reviews.active_of",  # the operator looks after all of them
    "paging._reading",  # looks up, in the same statement, what `Shape.rows` has found
    "paging.Shape.rows",  # its filters hold the tenant
    "session.Session.by_id", "session._user_of", "session.Session.touch",
    "tenant.Tenant.add", "tenant.Tenant.by_name", "tenant.Tenant.by_id", "tenant.Tenant.all",
    "user.User.by_email", "user.User.ids_by_email", "user.User.by_id", "user.User.administrators", "user.User.roles",
    "user.User.called", "user.User.give_password",
    "user.User.shares_mailbox", "user.User.misspelled", "user.User.by_mailboxes",
    "user.User.with_roles", "user.User.number_with_roles", "user.User._has_one_of",
    "user.User.tenants", "user.User.names",  # one policy, which may name users and groups of all tenants
    "share.named",  # for operators
}


def tables() -> list[type[Table]]:
    for module in pkgutil.iter_modules(tables_room.__path__):
        importlib.import_module(f"models.tables.{module.name}")

    def below(table: type[Table]) -> Iterator[type[Table]]:
        for one in table.__subclasses__():
            yield one
            yield from below(one)

    shipped = [table for table in below(Table) if table.__module__.startswith("models.")]
    return [table for table in shipped if table not in (Record, Owned, PolicyHistory)]  # that is a view


TENANT_TABLES = [table for table in tables() if issubclass(table, Record)]


def starts(tree: ast.Module, names: set[str]) -> Iterator[tuple[str, ast.Call]]:
    """Returns each call that starts a query on one of `names`, with the path of the function around it."""
    def walk(node: ast.AST, path: tuple[str, ...]) -> Iterator[tuple[str, ast.Call]]:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            path = (*path, node.name)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in STARTERS:
            whose = ast.unparse(node.func.value)
            if whose in names or whose.rpartition(".")[2] in names:
                yield ".".join(path), node
        for child in ast.iter_child_nodes(node):
            yield from walk(child, path)

    return walk(tree, ())


def test_nothing_outside_models_starts_a_query_on_a_table() -> None:
    names = {table.__name__ for table in tables()}
    files = [ROOT / "app.py", *(ROOT / "settings").rglob("*.py"), *SERVICE, *(ROOT / "policies").rglob("*.py")]
    found = [f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call)}" for path in files if path.exists()
             for _, call in starts(ast.parse(path.read_text()), names)]
    assert found == []


def test_only_named_functions_of_models_start_a_query_without_rows() -> None:
    names = {table.__name__ for table in tables()} | {"cls", "model", "self.model"}
    found = {f"{path.stem}.{function}" for path in (ROOT / "models").rglob("*.py") if path.parent.name != "migrations"
             for function, _ in starts(ast.parse(path.read_text()), names)}
    assert found == CROSSING


@pytest.mark.parametrize("table", TENANT_TABLES)
def test_every_statement_of_rows_names_the_tenant(
        table: type[Record], database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    tenant, statements, query, write = new_id(), [], database.query, database.write
    monkeypatch.setattr(database, "query", lambda *given: statements.append(given) or query(*given))
    monkeypatch.setattr(database, "write", lambda *given: statements.append(given) or write(*given))
    rows = Rows(table, tenant)
    row = table(id=new_id(), version=1)
    row.updated_at = now()
    database.query_hooks.append(lambda event: statements.append((event.sql, event.params)))
    try:
        list(rows.select())
        list(rows.select(table.id).order_by(table.id).limit(1))
        rows.find(row.id, lock=True)
        rows.find_all([row.id], lock=True)
        rows.find_by(id=row.id)
        rows.change({table.updated_at: now()}, table.id == row.id)
        rows.add(table.version, 1, row.id)
        rows.remove(id=row.id)  # and first looks up the shared objects
        rows.discard(id=row.id)
        for work in (rows.save, rows.delete, rows.insert):
            with pytest.raises((RowError, pw.IntegrityError, apsw.ConstraintError, psycopg.IntegrityError)):
                work(row)
    finally:
        database.query_hooks.clear()
    assert len(statements) == 13 + (table is Comment), "a comment also reads the state of its article"
    for sql, params in statements:
        assert "tenant_id" in sql.partition("WHERE" if "WHERE" in sql else "INSERT")[2]
        assert tenant in params


@pytest.mark.both_databases
@pytest.mark.parametrize("table", tables())
def test_a_table_says_exactly_what_the_migrations_made(table: type[Table], database: Database) -> None:
    stored = {column.name: column.null for column in database.get_columns(table._meta.table_name)}
    stored.pop("load", None)  # hides the rows of an import on SQLite (models/tables/load.py)
    stored.pop("search", None)  # the words of a row, which Postgres keeps itself (models/records/search.py)
    # SQLite reports an INTEGER PRIMARY KEY, which cannot be null, as nullable.
    declared = {field.column_name: field.null or (field.primary_key and stored[field.column_name])
                for field in table._meta.sorted_fields}
    owners_required = {"users", "service_tokens"}
    if table._meta.table_name in owners_required:
        declared["owner_id"] = False
    assert stored == declared
