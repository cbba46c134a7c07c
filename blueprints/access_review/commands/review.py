"""`gatepost policy review`: the roles of each user, how they got them, and whether they use them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gatepost.commands import policy_files
from gatepost.commands.instance import open_instance
from gatepost.commands.policy_output import counted
from gatepost.commands.printing import echo
from gatepost.commands.private_file import overwrite_option, private_file
from gatepost.http.schemas.file_formats import CSV, write
from models.tables.reviews import Account, accounts, active_of
from policies.usage.holdings import Holding, Holdings

COLUMNS = ("tenant", "email", "user", "role", "how", "personal_lines", "active", "last_login", "last_use", "tokens",
           "remark")
NO_USER, DISABLED = "lines name a user that there is not", "lines name a disabled user"


@click.command("review")
@click.option("--csv", "file", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write it to FILE, which only you can read.")
@overwrite_option
def review_command(file: Path, overwrite: bool) -> None:
    """Show who has which role, how they got it, and when they last used it.

    A CSV file with one row for each user and role, of all tenants; at its end one for each `user:` line that names
    nobody. Exit code 2, and no file, where something could not be read; 1 when lines name no user, or a disabled one.

    \b
    Example: gatepost policy review --csv review.csv
    """
    held = Holdings(policy_files.served())
    with open_instance(), private_file(file, overwrite=overwrite) as written:
        review = _Review(held)
        for chunk in write(CSV, COLUMNS, review.rows()):
            written.write(chunk)
    echo(f"{counted(review.users, 'user')}, {counted(review.written, 'row')}.")
    for remark, keys in ((NO_USER, review.missing), (DISABLED, review.disabled)):
        for key in keys:
            echo(f"{remark}: {key} ({', '.join(_places(held, key))})", err=True)
    sys.exit(int(bool(review.missing or review.disabled)))


class _Review:
    """The rows of the file, counted as they are made.

    missing, disabled  keys of users whom rules name, and who do not exist or may not log in
    """

    def __init__(self, held: Holdings) -> None:
        self._held = held
        self.users = self.written = 0
        found = active_of([key.removeprefix("user:") for key in held.persons])
        self.missing = [key for key in held.persons if key.removeprefix("user:") not in found]
        self.disabled = [key for key in held.persons if found.get(key.removeprefix("user:")) is False]

    def rows(self) -> Iterator[dict[str, Any]]:
        disabled = frozenset(self.disabled)
        for account in accounts():
            self.users += 1
            key = f"user:{account.id}"
            remark = DISABLED if key in disabled else None
            for holding in self._held.of(key, account.role):
                yield self._row(key, holding, account, remark)
        for key in self.missing:
            lent: tuple[Holding | None, ...] = self._held.lent(key) or (None,)
            yield from (self._row(key, holding, None, NO_USER) for holding in lent)

    def _row(self, key: str, holding: Holding | None, account: Account | None, remark: str | None) -> dict[str, Any]:
        self.written += 1
        told = {} if account is None else {
            "tenant": account.tenant, "email": account.email, "active": account.active,
            "last_login": account.last_login, "last_use": account.last_use, "tokens": account.tokens}
        role = {} if holding is None else {"role": holding.role, "how": "; ".join(holding.how)}
        lines = " ".join(rule.place for rule in self._held.lines(key)) or None
        return {"user": key.removeprefix("user:"), "personal_lines": lines, "remark": remark, **told, **role}


def _places(held: Holdings, key: str) -> list[str]:
    """Returns the places of rules that name a user: `articles.csv:14`."""
    return [*(rule.place for rule in held.lines(key)), *held.links(key)]
