"""`gatepost policy who`, `review` and `unused`: users who may do something, roles of users, and unused rules."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import click

from blueprints.access_review.holders import Holders, Reason, asked_about, ranks
from blueprints.access_review.review import facts_of
from blueprints.policy.circumstances import fixed
from blueprints.policy.commands.explain import circumstances, find_object
from gatepost.commands import policy_files
from gatepost.commands.context import TENANT
from gatepost.commands.instance import Instance, open_instance
from gatepost.commands.policy_output import AS_JSON, counted, print_json
from gatepost.commands.printing import echo, echo_lines
from gatepost.commands.private_file import overwrite_option, private_file
from gatepost.http.request.implied import implied_requests
from gatepost.http.request.user_fact import UserFact
from gatepost.http.schemas.file_formats import CSV, write
from gatepost.http.security.passwords import UNUSABLE
from models import paging
from models.base import DAY, later, now
from models.paging import Key, sort_order
from models.records.columns import reader
from models.tables.audit import told_since
from models.tables.policy_use import KEPT, counted_since, used_since
from models.tables.reviews import Account, accounts, active_of
from models.tables.service_token import ServiceToken
from models.tables.tenant import Tenant
from models.tables.user import User
from policies import Policy
from policies.questions.holders import Undetermined
from policies.questions.recorded import COLUMNS, Entry
from policies.syntax.roles import GUEST
from policies.usage.gaps import Span, gaps
from policies.usage.holdings import Holding, Holdings
from policies.usage.unused import unused
from settings import Settings

REVIEW_COLUMNS = ("tenant", "email", "user", "role", "how", "personal_lines", "active", "last_login", "last_use",
                  "tokens", "remark", "groups", "email_verified_at", "password")
NO_USER, DISABLED = "rules name a user that does not exist", "rules name a disabled user"
_AT_ONCE = 500  # users read by one statement
_COLUMNS = (User.id, User.email, User.role, User.department, User.groups)
_BY_EMAIL = sort_order(Key(User.email))
_NOBODY = "Nobody."
_read = reader(_COLUMNS)


@click.command("who")
@click.option("--at", metavar="TIME", help="At this time, such as 2026-11-18T22:00. In the time zone of the settings "
                                           "unless it has an offset.")
@click.option("--ip", metavar="ADDRESS", help="From this address.")
@click.option("--device", metavar="KIND", help="With a desktop, mobile, tablet, bot or other device.")
@click.option("--method", metavar="METHOD",
              help="By this method only. The default is every method that needs the permission.")
@click.option("--dir", "directory", type=click.Path(path_type=Path), metavar="DIR",
              help="Use the policy files of DIR instead of those of the instance.")
@TENANT
@AS_JSON
@click.argument("permission")
@click.argument("id", required=False)
def who_command(at: str | None, ip: str | None, device: str | None, method: str | None, directory: Path | None,
                tenant: str | None, as_json: bool, permission: str, id: str | None) -> None:
    """List the users who may do something, and the rule that allows each.

    It lists every active user of a tenant whom the policy allows it: by role, by a rule about them, by a group or by a
    share. Guests are listed, too. With ID, it is about that object. If a user may do it only at certain times, from
    certain addresses, with certain devices or by certain methods, the condition is shown.

    \b
    Example: gatepost policy who order.delete
    """
    policy = policy_files.served(directory, whole=directory is None)
    policy_files.refuse_unknown(permission, policy)
    options = circumstances({"at": at, "ip": ip, "device": device, "method": method})
    with open_instance() as instance:
        home = instance.tenant(tenant)
        collection = policy_files.registry().by_resource.get(permission.partition(".")[0])
        row = None if id is None else find_object(collection, permission, id, home.id)
        requests = implied_requests(policy_files.registry().by_permission.get(permission, ()), permission, collection,
                                    about_row=row is not None, method=method)
        facts = fixed(options, instance.settings.zone)
        tenant_id = home.id if row is None else row.tenant_id
        holders = Holders(instance.database, policy, asked_about(requests, row, tenant_id, facts),
                          ranks=ranks(policy, permission, collection, row),
                          guests=tenant_id == instance.tenant().id,
                          tokens=lambda: ServiceToken.valid_of(tenant_id))
        try:
            _show(_entries(instance, holders, tenant_id), policy, as_json)
        except Undetermined as error:
            hint = "use explain for each user" if error.function else "set --at, --ip, --device and --method"
            raise click.ClickException(f"This cannot be computed: {error}; {hint}.") from None


def _entries(instance: Instance, holders: Holders, tenant_id: str) -> Iterator[tuple[str, str, Reason]]:
    """Yields (name, role, reason): guests first, then users by e-mail."""
    if holders.guests is not None:
        yield "guests", GUEST, holders.guests
    if holders.narrowing is None:
        return
    shape = paging.Shape(User, _COLUMNS, _BY_EMAIL, (User.tenant_id == tenant_id,), holders.narrowing.where.allows,
                         holders.narrowing.where.denies)
    position, has_next = None, True
    while has_next:
        page = paging.walk(instance.database, shape, holders.narrowing.values, size=_AT_ONCE, position=position)
        for row in page.rows:
            user = _read(row[:len(_COLUMNS)])
            yield user["email"], user["role"], holders.reason(user)
        position, has_next = page.last, page.has_next


def _show(entries: Iterator[tuple[str, str, Reason]], policy: Policy, as_json: bool) -> None:
    if as_json:
        print_json({"policy_version": policy.version, "who": [_as_json(*entry) for entry in entries]})
        return
    is_empty = True
    for name, role, reason in entries:
        is_empty, place = False, "" if reason.line is None else f"{reason.line.file}:{reason.line.line}"
        echo(f"{name}  {role}  {place}{'' if reason.when is None else f'  when {reason.when}'}")
    if is_empty:
        echo(_NOBODY)


def _as_json(name: str, role: str, reason: Reason) -> dict[str, Any]:
    line = reason.line
    return {"who": name, "role": role, "rule": None if line is None else {"file": line.file, "line": line.line},
            "when": reason.when}


@click.command("review")
@click.option("--csv", "file", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write it to FILE, which only you can read.")
@overwrite_option
def review_command(file: Path, overwrite: bool) -> None:
    """Show who has which role, how they got it, and when they last used it.

    It writes a CSV file with one row for each user and role, of all tenants. Columns at the end tell how the user can
    log in: password, second factor, passkeys, identities at providers. The last rows are of `user:` rules whose user
    does not exist. The exit code is 2, without a file, if something could not be read. It is 1 if rules name a user
    that does not exist or is disabled.

    \b
    Example: gatepost policy review --csv review.csv
    """
    held, facts = Holdings(policy_files.served()), policy_files.registry().features.facts()
    columns = (*REVIEW_COLUMNS, *(fact.name for fact in facts))
    with open_instance() as instance, private_file(file, overwrite=overwrite) as written:
        review = _Review(held, facts, instance.settings)
        for chunk in write(CSV, columns, review.rows()):
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

    def __init__(self, held: Holdings, facts: Sequence[UserFact], settings: Settings) -> None:
        self._held, self._facts, self._settings = held, facts, settings
        self.users = self.written = 0
        active = active_of([key.removeprefix("user:") for key in held.persons])
        self.missing = [key for key in held.persons if key.removeprefix("user:") not in active]
        self.disabled = [key for key in held.persons if active.get(key.removeprefix("user:")) is False]

    def rows(self) -> Iterator[dict[str, Any]]:
        disabled = frozenset(self.disabled)
        for batch in _batches(accounts(UNUSABLE)):
            facts = facts_of(self._facts, self._settings, [account.id for account in batch])
            for account in batch:
                self.users += 1
                key = f"user:{account.id}"
                details = {**account._asdict(), **facts[account.id]}
                texts = {name: "; ".join(value) or None for name, value in details.items()
                         if isinstance(value, list | tuple)}
                remark = DISABLED if key in disabled else None
                for holding in self._held.of(key, account.role, account.groups):
                    yield self._row(key, holding, {**details, **texts}, remark)
        for key in self.missing:
            lent: tuple[Holding | None, ...] = self._held.lent(key) or (None,)
            yield from (self._row(key, holding, {}, NO_USER) for holding in lent)

    def _row(self, key: str, holding: Holding | None, details: dict[str, Any], remark: str | None) -> dict[str, Any]:
        self.written += 1
        details = {name: value for name, value in details.items() if name not in ("id", "role")}
        role = {} if holding is None else {"role": holding.role, "how": "; ".join(holding.how)}
        lines = " ".join(rule.place for rule in self._held.lines(key)) or None
        return {"user": key.removeprefix("user:"), "personal_lines": lines, "remark": remark, **details, **role}


def _batches(accounts: Iterable[Account]) -> Iterator[list[Account]]:
    rest = iter(accounts)
    while batch := list(islice(rest, _AT_ONCE)):
        yield batch


def _places(held: Holdings, key: str) -> list[str]:
    """Returns the places of rules that name a user: `articles.csv:14`."""
    return [*(rule.place for rule in held.lines(key)), *held.links(key)]


@click.command("unused")
@click.option("--days", type=click.IntRange(1, KEPT // DAY), default=30, show_default=True, metavar="N",
              help="The number of days to look back.")
@AS_JSON
def unused_command(days: int, as_json: bool) -> None:
    """List the rules and permissions that nobody uses.

    Proved: without the rule, no request gets another answer, or no decision in the audit log changes. Not used: by the
    counts, the rule has decided nothing and shown no row since then. Periods without counts are listed. The exit code
    is 1 if there is such a rule.

    \b
    Example: gatepost policy unused --days 90
    """
    policy, since = policy_files.served(), later(-days * DAY)
    with open_instance():
        counts = {key: used.times for key, used in used_since(since[:10]).items()}
        spans = [Span(*counted) for counted in counted_since(since)]
        rows = (Entry(**row) for tenant in Tenant.all() for row in told_since(tenant.id, since, COLUMNS))
        result = unused(policy, since, counts, rows, gaps(since, now(), spans))
    if as_json:
        print_json(result.as_json())
    else:
        echo_lines("\n".join(result.as_lines()))
    sys.exit(int(bool(result)))
