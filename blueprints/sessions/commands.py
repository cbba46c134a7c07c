"""`gatepost user`, `gatepost tenant` and `gatepost token`: accounts, tenants, and service tokens of programs."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import TextIO

import click

from gatepost.commands import policy_files
from gatepost.commands.conditions import unnamed
from gatepost.commands.context import TENANT, address, password_file
from gatepost.commands.features import Extensible
from gatepost.commands.instance import (
    MAKE_ADMINISTRATOR,
    AppFactory,
    Instance,
    hash_password,
    open_instance,
    read_name,
    read_password,
    record,
    services_for,
)
from gatepost.commands.printing import Group, echo
from gatepost.http.request.identity import service_token
from models.base import DAY, Rows, later, read_id, with_read_id
from models.engine.errors import AlreadyExists
from models.tables.restored import release_tokens
from models.tables.service_token import LASTS, ServiceToken
from models.tables.session import end_all
from models.tables.tenant import Tenant
from models.tables.user import User
from policies.loading.loader import read_files
from policies.syntax.roles import GUEST, USER, declared
from policies.wording.suggestions import did_you_mean

PASSWORD_FILE = password_file("--password-file")
_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@click.group(cls=Extensible)
def user() -> None:
    """Add users, set passwords, disable and enable accounts."""


@user.command("add")
@click.argument("email")
@click.option("--role", metavar="ROLE", default=USER, show_default=True,
              help="The user's role, one that the policy's roles.csv declares.")
@TENANT
@click.option("--name", help="The user's name; the part of the address before @ unless given.")
@click.option("--department", help="Their department, which conditions may ask for.")
@click.option("--group", "groups", multiple=True,
              help="A group of theirs, which shares and conditions name. May be repeated.")
@PASSWORD_FILE
def add_user(
    email: str,
    role: str,
    tenant: str | None,
    name: str | None,
    department: str | None,
    groups: tuple[str, ...],
    password_file: TextIO | None,
) -> None:
    """Add a user.

    Without --password-file a password is made up, and shown once.

    \b
    Example: gatepost user add ada@example.org --role editor
    """
    email = address(email)
    name, department = name and read_name(name), department and read_name(department)
    groups = tuple(map(read_name, groups))
    password, made_up = _password(password_file, name, email)
    with open_instance() as instance:
        _require_role(role)
        row = User(
            name=name or email.partition("@")[0],
            email=email,
            role=role,
            department=department,
            groups=list(groups),
            password_hash=hash_password(password),
        )
        users = Rows(User, instance.tenant(tenant).id)

        def work() -> None:
            users.insert(row)
            record(row.tenant_id, "user", "create", row.id)

        try:
            instance.database.transact(work)
        except AlreadyExists:
            raise click.ClickException(f"There is a user {email} already.") from None
        echo(f"Added {row.email}, {role}, id {row.id}.")
        if warning := unnamed([department] if department else [], groups):
            echo(warning, err=True)
    _show(made_up)


@user.command()
@click.argument("email")
@PASSWORD_FILE
def password(email: str, password_file: TextIO | None) -> None:
    """Give a user a new password and end their sessions.

    \b
    Example: gatepost user password ada@example.org
    """
    chosen, made_up = _password(password_file, email)
    hashed = hash_password(chosen)

    def change(row: User) -> None:
        row.password_hash = hashed

    with open_instance() as instance:
        _change(instance, email, "password", change)
        echo(f"{email} has a new password; their sessions have ended.")
    _show(made_up)


@user.command()
@click.argument("email")
def disable(email: str) -> None:
    """Keep a user from logging in, and end their sessions.

    Unlike the API, the command also disables the last administrator, with a warning.

    \b
    Example: gatepost user disable ada@example.org
    """
    _set_active(email, False)
    echo(f"{email} is disabled.")


@user.command()
@click.argument("email")
def enable(email: str) -> None:
    """Let a disabled user log in again.

    \b
    Example: gatepost user enable ada@example.org
    """
    _set_active(email, True)
    echo(f"{email} is enabled.")


@user.command("list")
@TENANT
def list_users(tenant: str | None) -> None:
    """List the users of a tenant.

    \b
    Example: gatepost user list --tenant acme
    """
    with open_instance() as instance:
        for row in Rows(User, instance.tenant(tenant).id).select().where(
                User.erased_at.is_null()).order_by(User.email):
            echo(f"{row.id}  {row.role:9}  {'active' if row.active else 'disabled':8}  {row.email}")


def _require_role(role: str) -> None:
    """Raises BadParameter for an unknown role. Other errors in the policy files are ignored."""
    roles = [name for name in declared(read_files(policy_files.of_instance(), {}, [])) if name != GUEST]
    if role not in roles:
        near = did_you_mean(role, roles) or "."
        raise click.BadParameter(f"there is no role {role!r}{near} Roles: {', '.join(roles)}", param_hint="'--role'")


def _password(file: TextIO | None, *guessable: str | None) -> tuple[str, str | None]:
    """Returns the password to set, and the same again if it was generated and must be shown, else None.

    `guessable` are the account's name and e-mail address, which an attacker may know.
    """
    if file is not None:
        return read_password(file, *guessable), None
    made_up = secrets.token_urlsafe(15)
    return made_up, made_up


def _show(made_up: str | None) -> None:
    if made_up is not None:
        echo(f"Password: {made_up}   (shown only now)")


def _set_active(email: str, active: bool) -> None:
    def change(row: User) -> None:
        row.active = active

    with open_instance() as instance:
        _change(instance, email, "enable" if active else "disable", change)
        if not active and not User.administrators():
            echo(f"No active administrator is left. {MAKE_ADMINISTRATOR}", err=True)


def _change(instance: Instance, email: str, action: str, change: Callable[[User], None]) -> None:
    """Changes a user's row and ends all their sessions."""

    def work() -> None:
        row = instance.user(email)
        change(row)
        end_all(row)
        Rows(User, row.tenant_id).save(row)
        record(row.tenant_id, "user", action, row.id)

    instance.database.transact(work)


@click.group(cls=Group)
def tenant() -> None:
    """Add tenants: groups of users who do not see one another's rows."""


@tenant.command("add")
@click.argument("name")
def add_tenant(name: str) -> None:
    """Add a tenant.

    \b
    Example: gatepost tenant add acme
    """
    if not _TENANT.fullmatch(name):
        raise click.ClickException("A tenant's name has lower-case letters, digits, - and _, at most 63.")
    with open_instance() as instance:
        try:
            row = instance.database.transact(lambda: Tenant.add(name))
        except AlreadyExists:
            raise click.ClickException(f"There is a tenant {name} already.") from None
        echo(f"Added {name}, id {row.id}.")


@tenant.command("list")
def list_tenants() -> None:
    """List the tenants.

    \b
    Example: gatepost tenant list
    """
    with open_instance():
        for row in Tenant.all():
            echo(f"{row.id}  {row.name}")


@click.group(cls=Group)
def token() -> None:
    """Give programs tokens that act for a user."""


@token.command("add")
@click.argument("email")
@click.option("--name", default="command line", show_default=True, help="What the token is for.")
@click.option("--scope", "scopes", multiple=True, required=True, help="Such as read:articles. May be repeated.")
@click.option("--days", type=click.IntRange(0, 36500), default=LASTS // DAY, metavar="DAYS",
              help=f"Days that it is valid, {LASTS // DAY} unless given; 0: without end.")
@click.pass_obj
def add_token(create_app: AppFactory, email: str, name: str, scopes: tuple[str, ...], days: int) -> None:
    """Make a token that acts for a user, narrowed by scopes. It is shown once.

    \b
    Example: gatepost token add ada@example.org --scope read:articles --days 90
    """
    with services_for(create_app) as services:
        declared_scopes = services.policy.current.scope_names
    if unknown := [scope for scope in scopes if scope not in declared_scopes]:
        raise click.ClickException(f"There is no scope {unknown[0]}; there are {', '.join(sorted(declared_scopes))}.")
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
        token_id = read_id(id)
        row = None if token_id is None else ServiceToken.by_id(token_id)
        if row is None:
            raise click.ClickException(f"There is no token {id}.")

        def work() -> None:
            Rows(ServiceToken, row.tenant_id).delete(row)
            record(row.tenant_id, "token", "delete", row.id)

        instance.database.transact(work)
    echo(f"{id} is revoked.")
