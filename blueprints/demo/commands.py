"""`gatepost demo`: a password for the demo users, more demo rows, and their removal."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from time import perf_counter

import click

from blueprints.demo import removing, samples, showcase
from gatepost.collections.registry import why_left_out
from gatepost.commands import policy_files
from gatepost.commands.instance import Instance, hash_password, open_instance
from gatepost.commands.printing import echo
from gatepost.http.security import passwords
from models.base import DAY, Rows, later
from models.records.bulk import optimize
from models.tables import demo_row
from models.tables.article import Article
from models.tables.session import Session, revoke
from models.tables.user import User
from policies.syntax.roles import ADMIN, OWNER

_MOST_KEPT = 100  # kept rows that are listed
_WHY = {removing.EDITED: "edited", removing.NEEDED: "other rows refer to it"}


@click.command()
@click.option("--articles", type=click.IntRange(1, 10_000_000), metavar="N", help="Add N invented articles instead.")
@click.option("--remove", is_flag=True, help="Delete the demo rows instead.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting; for --remove.")
def demo(articles: int | None, remove: bool, yes: bool) -> None:
    """Let the demo users log in, or add and remove demo rows.

    Sets one password for all demo users below owner, and shows it once. It ends after 24 hours. It is refused for an
    instance that others can reach: with the setting public_url or trusted_proxies.

    --remove keeps rows that were edited or that other rows refer to. It lists them, and asks.

    \b
    Example: gatepost demo --remove
    """
    if (articles is not None and remove) or (yes and not remove):
        raise click.UsageError("Give --articles or --remove, or none of them; --yes belongs to --remove.")
    with open_instance() as instance:
        if articles is not None:
            _add(instance, articles)
        elif remove:
            _remove(instance, ask=not yes)
        else:
            _open(instance)


def _open(instance: Instance) -> None:
    """Sets the password of the demo users."""
    settings = instance.settings
    for name, value in (("public_url", settings.public_url), ("trusted_proxies", settings.trusted_proxies)):
        if value:
            raise click.ClickException(f"Others can reach this instance: the setting {name} is set. A password for all "
                                       "demo users would let them in. For one user: gatepost user password EMAIL")
    above = _above()
    password, end = secrets.token_urlsafe(15), later(DAY)
    hashed = passwords.ending(hash_password(password), end)

    def work() -> list[str]:
        emails = list[str]()
        for tenant in showcase.houses(instance.tenant()):
            users = [user for user in _demo_users(tenant.id)
                     if user.active and user.role not in above and removing.has_no_own_password(user)]
            ids = [user.id for user in users]
            # Without a new version: a password of `gatepost demo` does not make the row an edited one.
            User.give_password(ids, hashed)
            revoke(tenant.id, Session.owner_id.in_(ids))
            for user in users:
                instance.record(tenant, "user", "password", user.id)
            emails += [f"{user.email}  {user.role}" for user in users]
        return emails

    emails = instance.database.transact(work)
    if not emails:
        raise click.ClickException("There are no demo users without a password of their own. They come with the demo "
                                   "data of: gatepost init")
    for line in emails:
        echo(line)
    echo(f"Password: {password}   (shown only now, and valid until {end})")


def _above() -> set[str]:
    """Returns the roles that do not get the password: owner, admin, and those that inherit from them."""
    roles = policy_files.served().roles
    return {name for name in roles.names if not roles.closure(name).isdisjoint((OWNER, ADMIN))} | {OWNER, ADMIN}


def _demo_users(tenant_id: str) -> Sequence[User]:
    ids = [*demo_row.marks(tenant_id, User)] or [*removing.recognized(tenant_id, User)]
    return sorted(Rows(User, tenant_id).find_all(ids), key=lambda user: user.email)


def _remove(instance: Instance, *, ask: bool) -> None:
    tenant, without = instance.tenant(), instance.settings.without
    if ask:
        outcome = removing.remove(instance.database, tenant, without, trial=True)
        if not outcome.deleted:
            _tell(outcome, "Nothing to delete.")
            return
        _tell(outcome, "Would delete")
        click.confirm("Delete these rows?", abort=True)
    outcome = removing.remove(instance.database, tenant, without)
    _tell(outcome, "Deleted" if outcome.deleted else "Nothing to delete.")


def _tell(outcome: removing.Outcome, head: str) -> None:
    counts = ", ".join(f"{number} {kind}" for kind, number in outcome.deleted.items())
    echo(f"{head} {counts}." if counts else head)
    if outcome.kept:
        echo(f"Kept {len(outcome.kept)}:")
    for kind, name, why in outcome.kept[:_MOST_KEPT]:
        echo(f"  {kind}: {name[:80]} ({_WHY[why]})")
    if len(outcome.kept) > _MOST_KEPT:
        echo(f"  and {len(outcome.kept) - _MOST_KEPT} more")


def _add(instance: Instance, articles: int) -> None:
    if Article._meta.table_name in instance.settings.without:
        raise click.ClickException(f"No articles are served: {why_left_out(Article._meta.table_name, ())}.")
    start = perf_counter()
    with click.progressbar(length=articles, label="articles") as bar:
        for size in samples.fill(instance.database, instance.tenant().id, articles):
            bar.update(size)
    optimize(instance.database, Article)
    echo(f"Added {articles} articles in {perf_counter() - start:.1f} s.")
