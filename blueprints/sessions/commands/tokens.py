"""Commands about service tokens of programs: `gatepost token …`."""

from __future__ import annotations

import click

from gatepost.commands.instance import AppFactory, open_instance, read_name, record, services_for
from gatepost.commands.printing import Group, echo
from gatepost.http.request.identity import service_token
from models.base import DAY, Rows, later, read_id, with_read_id
from models.tables.restored import release_tokens
from models.tables.service_token import LASTS, ServiceToken


@click.group(cls=Group)
def token() -> None:
    """Give programs tokens that act for a user."""


@token.command()
@click.argument("email")
@click.option("--name", default="command line", show_default=True, help="What the token is for.")
@click.option("--scope", "scopes", multiple=True, required=True, help="Such as read:articles. May be repeated.")
@click.option("--days", type=click.IntRange(0, 36500), default=LASTS // DAY, metavar="DAYS",
              help=f"Days that it is valid, {LASTS // DAY} unless given; 0: without end.")
@click.pass_obj
def add(create_app: AppFactory, email: str, name: str, scopes: tuple[str, ...], days: int) -> None:
    """Make a token that acts for a user, narrowed by scopes. It is shown once.

    \b
    Example: gatepost token add ada@example.org --scope read:articles --days 90
    """
    with services_for(create_app) as services:
        known = services.policy.current.scope_names
    if unknown := [scope for scope in scopes if scope not in known]:
        raise click.ClickException(f"There is no scope {unknown[0]}; there are {', '.join(sorted(known))}.")
    with open_instance() as instance:
        owner = instance.user(email)
        row = ServiceToken(owner_id=owner.id, department=owner.department, name=read_name(name), scopes=list(scopes),
                           expires_at=later(days * DAY) if days else None)
        row.id, row.token_hash, text = service_token()

        def work() -> None:
            Rows(ServiceToken, owner.tenant_id).insert(row)
            record(owner.tenant_id, "token", "create", row.id)

        instance.database.transact(work)
    echo(f"Token: {text}   (shown only now)")


@token.command("list")
@click.argument("email")
def list_tokens(email: str) -> None:
    """List a user's tokens. Their secrets are not kept.

    \b
    Example: gatepost token list ada@example.org
    """
    with open_instance() as instance:
        owner = instance.user(email)
        mine = Rows(ServiceToken, owner.tenant_id).select().where(ServiceToken.owner_id == owner.id)
        for row in mine.order_by(ServiceToken.created_at):
            echo(f"{row.id}  {row.name}: {' '.join(row.scopes) or 'no scopes'}, "
                 f"{f'until {row.expires_at}' if row.expires_at else 'for good'}, "
                 f"{f'last used {row.last_used_at}' if row.last_used_at else 'never used'}"
                 f"{', held since a restore' if row.held_hash is not None else ''}")


@token.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
def release(ids: tuple[str, ...]) -> None:
    """Re-enable tokens that a restore suspended: these, or all of them.

    A restored backup may have tokens that were revoked after the backup.

    \b
    Example: gatepost token release
    """
    ids = tuple(map(with_read_id, ids))
    with open_instance() as instance:
        if unknown := [id for id in ids if read_id(id) is None or ServiceToken.by_id(id) is None]:
            raise click.ClickException(f"There is no token {unknown[0]}.")

        def work() -> int:
            record(instance.tenant().id, "token", "release", ids[0] if len(ids) == 1 else None)
            return release_tokens(*ids)

        number = instance.database.transact(work)
    echo(f"{number} {'token acts' if number == 1 else 'tokens act'} again.")


@token.command()
@click.argument("id")
def revoke(id: str) -> None:
    """Revoke a token: it is refused from the next request on.

    \b
    Example: gatepost token revoke 01930f2e-8a4b-7c3d-9e1f-2a3b4c5d6e7f
    """
    with open_instance() as instance:
        known = read_id(id)
        row = None if known is None else ServiceToken.by_id(known)
        if row is None:
            raise click.ClickException(f"There is no token {id}.")

        def work() -> None:
            Rows(ServiceToken, row.tenant_id).delete(row)
            record(row.tenant_id, "token", "delete", row.id)

        instance.database.transact(work)
    echo(f"{id} is revoked.")
