"""Commands to read and verify the audit log: `gatepost audit …`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import orjson

from gatepost.commands.instance import Instance, open_instance
from gatepost.commands.printing import Group, echo, echo_json
from gatepost.http.auditing.writer import AuditWriter, sealer
from models.base import parse_time
from models.engine.errors import Damaged
from models.tables import sealed_rows, seals
from models.tables.audit import Audit, of_all, of_tenant

_KEPT_HERE = ("salt", "commitment")  # not exported, because with them erased values could be guessed and confirmed
_TENANT = click.option("--tenant", metavar="NAME", help="Only this tenant. The default is all tenants.")


@click.group(cls=Group)
def audit() -> None:
    """Show, export and verify the audit log."""


@audit.command()
@_TENANT
@click.option("-n", "--lines", type=click.IntRange(1, 10_000), metavar="N", default=20, show_default=True,
              help="The number of events to show first.")
@click.option("-f", "--follow", is_flag=True, help="Show new events until Ctrl-C.")
def tail(tenant: str | None, lines: int, follow: bool) -> None:
    """Show the newest audit events, in the order of time.

    With --follow, reads of the audit log are left out.

    \b
    Example: gatepost audit tail -f
    """
    with open_instance() as instance:
        query = _of(instance, tenant)
        if follow:
            # Otherwise programs that read the log regularly would fill the output.
            query = query.where(~((Audit.resource == "audit") & (Audit.action == "view")))
        newest = query.order_by(Audit.seq.desc()).limit(lines)
        last = 0
        for row in reversed(list(newest)):
            echo(_line(row))
            last = row.seq
        while follow:
            time.sleep(1)
            for row in query.where(Audit.seq > last).order_by(Audit.seq):
                echo(_line(row))
                last = row.seq


@audit.command()
@_TENANT
@click.option("--since", metavar="TIME", help="Only events from this time on (RFC 3339).")
@click.option("--heads", is_flag=True, help="Write the heads of the seals instead, one `number head` per line.")
def export(tenant: str | None, since: str | None, heads: bool) -> None:
    """Write the audit events as NDJSON, the oldest first.

    With --heads, it writes the heads of the seals. They prove later that no event was changed or removed. Keep them
    on another machine.

    \b
    Example: gatepost audit export --heads > heads.txt
    """
    with open_instance() as instance:
        if heads:
            for one in seals.heads():
                echo(f"{one.seq} {one.head}")
            return
        for row in _all(instance, tenant, since):
            echo_json(row)


@audit.command()
@click.option("--heads", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
              help="Heads that were exported earlier. They must still match.")
def verify(heads: Path | None) -> None:
    """Prove that no audit event was changed or removed.

    The exit code is 1 if one was, or if that cannot be proved.

    \b
    Example: gatepost audit verify --heads heads.txt
    """
    with open_instance() as instance:
        keys = instance.keys()
        if not instance.database.read_only:
            with suppress(Damaged):  # `verify` below finds the damaged rows
                AuditWriter(instance.database, keys).seal()
        verdict = seals.verify(instance.database, sealer(keys), _heads(heads))
    for finding in verdict.findings:
        echo(finding, mark=click.style("FAIL  ", fg="red"))
    echo(f"{verdict.sealed} events are proved, {verdict.unsealed} are too new to have a seal, "
         f"{verdict.retired} seals are beyond their retention.")
    if verdict.erased:
        echo(f"The personal values of {verdict.erased} proved events were erased.")
    if verdict.older:
        echo(f"{verdict.older} heads belong to seals that were deleted after their retention.")
    sys.exit(bool(verdict.findings))


def _of(instance: Instance, tenant: str | None) -> Any:
    return of_all() if tenant is None else of_tenant(instance.tenant(tenant).id)


def _all(instance: Instance, tenant: str | None, since: str | None) -> Iterator[dict[str, Any]]:
    """Yields rows, read in batches so that no writer waits for a long read."""
    last, query = 0, _of(instance, tenant)
    if since is not None:
        try:
            query = query.where(Audit.time >= parse_time(since, up=True))
        except ValueError as error:
            raise click.ClickException(f"--since {since}: {error}") from None
    while batch := list(query.where(Audit.seq > last).order_by(Audit.seq).limit(sealed_rows.BATCH)):
        for row in batch:
            yield {name: value for name, value in row.__data__.items() if name not in _KEPT_HERE}
        last = batch[-1].seq


def _heads(file: Path | None) -> dict[int, str]:
    if file is None:
        return {}
    try:
        pairs = [line.split() for line in file.read_text(encoding="ascii").splitlines() if line.strip()]
        return {int(number): head for number, head in pairs}
    except (ValueError, OSError) as error:
        raise click.ClickException(f"{file}: not a list of heads: {error}") from None


def _line(row: Audit) -> str:
    what = f"{row.resource}.{row.action} {row.resource_id or ''}".rstrip()
    facts = "" if row.facts is None else f"  {orjson.dumps(row.facts).decode()}"
    return (f"{row.time}  {row.result:7}  {row.principal} ({row.role}) from {row.address or '-'}: {what}"
            f"{f'  [{row.reason}]' if row.reason else ''}{facts}")
