"""`gatepost import` and `gatepost export`: read and write files of any size. The rules of the policy apply."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import click

from gatepost.collections.collection import Collection
from gatepost.commands.conditions import unnamed
from gatepost.commands.context import TENANT
from gatepost.commands.instance import AppFactory, app_for, find_tenant, sentences
from gatepost.commands.printing import echo, json_visible, lines_visible
from gatepost.commands.private_file import overwrite_option, private_file
from gatepost.http.auditing.writer import AuditWriter
from gatepost.http.protocol.problems import Problem
from gatepost.http.reading.exporting import content
from gatepost.http.request import audit, events
from gatepost.http.request.access import Access
from gatepost.http.request.call import Call, Services
from gatepost.http.request.environment import RequestEnvironment
from gatepost.http.request.identity import principal_of
from gatepost.http.schemas import file_formats
from gatepost.http.writing.intake import Import
from gatepost.http.writing.planned import UNCHANGED, Plan
from models.base import now
from models.engine.errors import RowError
from models.records.bulk import ample_cache, optimize
from models.tables.user import User
from policies import Principal
from policies.evaluation.principal import OPERATOR
from policies.syntax.roles import ADMIN

FORMATS = {"ndjson": file_formats.NDJSON, "csv": file_formats.CSV}
_SHOWN = 20  # printed faults

format_option = click.option("--format", type=click.Choice(list(FORMATS)),
                             help="Format of the file. By default it is that of the file name.")


@click.command("import")
@click.argument("collection")
@click.argument("file", type=click.File("rb"))
@format_option
@click.option("--on-error", type=click.Choice(["skip"]), help="Skip lines that fail, up to a thousand errors.")
@click.option("--dry-run", is_flag=True, help="Show what the file would change, and store nothing.")
@click.option("--key", metavar="FIELD", help="A line updates the row that has the same FIELD, such as slug.")
@TENANT
@click.option("--as", "email", metavar="EMAIL",
              help="Act as this user, who owns new rows. By default the command acts as an administrator.")
@click.pass_obj
def import_(
    create_app: AppFactory, collection: str, file: BinaryIO, format: str | None, on_error: str | None,
    dry_run: bool, key: str | None, tenant: str | None, email: str | None,
) -> None:
    """Create or change rows of COLLECTION from FILE.

    FILE is NDJSON or CSV; - is standard input. All rows are stored, or none. The policy decides about every line. Other
    writers do not wait; the new rows become visible when all are stored.

    \b
    Example: gatepost import articles articles.ndjson --key slug
    """
    with _call(create_app, collection, "import", tenant, email) as (target, call):
        if key is not None and key not in target.import_keys:
            allowed = f" Choose from: {', '.join(target.import_keys)}." if target.import_keys else ""
            raise click.ClickException(f"{collection} have no key {key}.{allowed}")
        plan = Plan(target, call) if dry_run else None
        intake = Import(target, call, key=key, skip=on_error == "skip", keeps_ids=True, plan=plan)
        lines, start = _check(intake, _media_type(str(getattr(file, "name", "")), format), file), now()
        audit.note_decision(call)
        database = call.services.database
        ample_cache(database)
        with click.progressbar(length=lines, label="storing", file=sys.stderr) as bar, intake.load() as opened:
            if opened:
                _show(intake.store_new(), bar)
            if dry_run:
                with suppress(_Undo):
                    database.transact(lambda: _rehearse(intake, bar))
            else:
                database.transact(lambda: _take_in(intake, call, bar))
        outcome = intake.outcome
        _report(outcome["errors"])
        if dry_run:
            _foretell(outcome)
            return
        echo(f"{outcome['imported']} imported, {outcome['updated']} updated, {outcome['failed']} failed.")
        if target.model is User and (warning := unnamed(*User.names(start))):
            echo(warning, err=True)
        optimize(database, target.model)


@click.command("export")
@click.argument("collection")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@format_option
@overwrite_option
@TENANT
@click.option("--as", "email", metavar="EMAIL",
              help="Act as this user. By default the command acts as an administrator.")
@click.pass_obj
def export(
    create_app: AppFactory, collection: str, file: Path, format: str | None, overwrite: bool, tenant: str | None,
    email: str | None,
) -> None:
    """Write the rows of COLLECTION to FILE, as NDJSON or CSV.

    Only the user who runs this can read FILE. Without FILE it writes to standard output.

    \b
    Example: gatepost export articles articles.csv
    """
    with _call(create_app, collection, "export", tenant, email) as (target, call):
        total, media_type = target.rows(call).select().count(), _media_type(file.name, format)
        event = audit.Export(call, {})

        def progress(rows: int) -> None:
            event.count(rows)
            bar.update(rows)

        output = _output(file, overwrite)
        try:
            with output as stream, click.progressbar(length=total, label=collection, file=sys.stderr) as bar:
                for chunk in content(target.listing, call, media_type, progress):
                    stream.write(_for_a_reader(chunk, media_type) if stream.isatty() else chunk)
        finally:
            event.note()
            _store(call.services.audit_writer)


def _output(file: Path, overwrite: bool) -> AbstractContextManager[IO[bytes]]:
    if file == Path("-"):
        return click.open_file("-", "wb")
    return private_file(file, overwrite=overwrite)


def _for_a_reader(chunk: bytes, media_type: str) -> bytes:
    """Returns whole lines of a file with invisible characters escaped, for a terminal."""
    text = chunk.decode()
    shown = json_visible(text) if media_type == file_formats.NDJSON else lines_visible(text.replace("\r\n", "\n"))
    return shown.encode()


def _store(writer: AuditWriter) -> None:
    try:
        writer.flush(early=True)
    except RowError as error:
        # Only a warning: the rows are written already, and the operator may need them because the database fails.
        echo(f"This export could not be added to the audit log: {type(error).__name__}: {error}", err=True)


def _check(intake: Import, media_type: str, file: BinaryIO) -> int:
    """Checks all lines, and returns their number."""
    lines, size = 0, _size(file)
    with click.progressbar(length=size, label="checking", file=sys.stderr, hidden=not size) as bar:
        for number in intake.check(media_type, file):
            lines += number
            if size:
                bar.update(file.tell() - bar.pos)
    return lines


def _take_in(intake: Import, call: Call, bar: Any) -> None:
    _show(intake.store(), bar)
    audit.record(call)
    events.write_down(call)


class _Undo(Exception):
    """Signal that a dry run is complete. It undoes the transaction."""


def _rehearse(intake: Import, bar: Any) -> None:
    _show(intake.store(), bar)
    raise _Undo


def _foretell(outcome: Mapping[str, Any]) -> None:
    """Prints the result of a dry run: the first lines with an effect, and the numbers."""
    effective = [line for line in outcome["lines"] if line["outcome"] != UNCHANGED]
    for line in effective[:_SHOWN]:
        changes = [f"{one['field']} {_as_json(one['before'])} → {_as_json(one['after'])}" if line["id"] else
                   f"{one['field']} {_as_json(one['after'])}" for one in line["changes"]]
        echo(f"line {line['line']}: {line['outcome']}: {', '.join(changes)}")
    changed = outcome["updated"] - outcome["unchanged"]
    if outcome["imported"] + changed > len(effective[:_SHOWN]):
        echo(f"… and {outcome['imported'] + changed - len(effective[:_SHOWN])} more")
    echo(f"{outcome['imported']} would be imported, {changed} changed, {outcome['unchanged']} left as they are, "
         f"{outcome['failed']} would fail. Nothing was stored.")


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _show(progress: Iterator[int], bar: Any) -> None:
    for number in progress:
        bar.update(number)


@contextmanager
def _call(create_app: AppFactory, name: str, verb: str, tenant: str | None,
          email: str | None) -> Iterator[tuple[Collection, Call]]:
    """Yields the collection, and a call of its endpoint for the user of the command, as if it came over HTTP."""
    app = app_for(create_app)
    services: Services = app.extensions["gatepost"]
    try:
        collections = cast(Mapping[str, Collection], services.collections)  # typed there with fewer methods
        collection = collections.get(name)
        endpoints = collection.served if collection is not None else ()
        endpoint = next((candidate for candidate in endpoints if candidate.name == verb), None)
        if collection is None or endpoint is None or endpoint.permission is None:
            names = [each.name for each in collections.values()
                     if any(candidate.name == verb for candidate in each.served)]
            raise click.ClickException(f"There is no {verb} of {name}. Choose from: {', '.join(sorted(names))}.")
        context = app.test_request_context(endpoint.path, method=endpoint.method)
        with sentences(services.database), services.database.connected(), context:
            call = Call(services, endpoint, context.request, {})
            call.principal = _principal(services, tenant, email)
            environment = RequestEnvironment(call.request, services.settings.zone)
            call.access = Access(services.policy.current, call.principal, environment)
            if not call.access.may_ever(endpoint.permission):
                raise call.access.refusal(endpoint.permission)
            yield collection, call
    except Problem as problem:
        _report([{"line": (fault.meta or {}).get("line"), **vars(fault)} for fault in problem.faults])
        raise click.ClickException(problem.detail or problem.code) from None
    finally:
        services.database.close_all()


def _principal(services: Services, tenant: str | None, email: str | None) -> Principal:
    home = find_tenant(services.settings, tenant)
    if email is None:
        # An operator could change the database directly, but the rules for administrators still apply.
        return Principal(id=None, key=OPERATOR, role=ADMIN, tenant_id=home.id)
    user = User.by_email(email)
    if user is None or not user.active:
        raise click.ClickException(f"There is no active user {email}.")
    if tenant is not None and user.tenant_id != home.id:
        raise click.ClickException(f"{email} is not in the tenant {tenant}.")
    return principal_of(user)


def _media_type(name: str, format: str | None) -> str:
    by_name = "csv" if name.lower().endswith(".csv") else "ndjson"
    return FORMATS[format or by_name]


def _size(file: BinaryIO) -> int:
    """Returns the bytes of a file on disk; 0 for a stream."""
    if not file.seekable():
        return 0
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return size


def _report(faults: list[dict[str, Any]]) -> None:
    for fault in faults[:_SHOWN]:
        where = f"line {fault['line']}" if fault["line"] else "file"
        place = f" {fault['pointer']}" if fault["pointer"] else ""
        echo(f"{where}: {fault['code']}{place}: {fault['detail']}", err=True)
    if len(faults) > _SHOWN:
        echo(f"… and {len(faults) - _SHOWN} more", err=True)
