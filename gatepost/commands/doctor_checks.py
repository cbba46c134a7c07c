"""Checks of `gatepost doctor` besides the health checks: slow ones, and those of the machine."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path
from pwd import getpwuid
from time import sleep

from gatepost.collections.collection import Collection
from gatepost.commands.conditions import unnamed
from gatepost.commands.instance import MAKE_ADMINISTRATOR, database_of
from gatepost.health import checks
from gatepost.health.check_result import CheckResult, State
from gatepost.http.operations.write_probe import PATIENCE, ProbeResult, WriteProbe
from gatepost.http.security.keys import Keys
from gatepost.http.writing.sharing import GUESTS
from models.engine.database import Database
from models.engine.errors import RowError, TimedOut
from models.records.mailboxes import normalize
from models.records.search import has_lost_words
from models.tables import share
from models.tables.erasure import unfinished
from models.tables.service_token import ServiceToken
from models.tables.sizes import measure
from models.tables.user import User
from policies.syntax.roles import GUEST
from settings import Settings

LARGEST = 5  # tables in the report
MOST_USERS = 20  # users in the report
MOST_FILES = 3  # files in the report
MOST_SHARES = 20  # shares in the report
LOOK = 10.0  # seconds of the search for damage
WORDS = 2.0  # seconds of the comparison of an index of words with its rows; writers wait during it


def instance(settings: Settings) -> CheckResult:
    """Checks that the instance folder exists and that only its owner can read it."""
    if not settings.instance.is_dir():
        return CheckResult(State.DOWN, f"the folder {settings.instance} does not exist; run gatepost init")
    mode = stat.S_IMODE(settings.instance.stat().st_mode)
    if mode & 0o077:
        return CheckResult(State.DOWN, f"other users can read it (mode {mode:o}); run chmod 700 {settings.instance}")
    return CheckResult(State.OK, str(settings.instance))


def owners(settings: Settings) -> CheckResult:
    """Checks that all files in the instance folder belong to the folder's owner, who runs the service."""
    owner = settings.instance.stat().st_uid
    foreign = [file for file in _files(settings.instance) if file.lstat().st_uid != owner]
    if not foreign:
        return CheckResult(State.OK, f"everything belongs to {_name(owner)}")
    names = ", ".join(str(file.relative_to(settings.instance)) for file in foreign[:MOST_FILES])
    rest = f" and {len(foreign) - MOST_FILES} others" if len(foreign) > MOST_FILES else ""
    return CheckResult(
        State.DEGRADED,
        f"{names}{rest} do not belong to {_name(owner)}, the owner of the folder; run "
        f"chown -R {_name(owner)} {settings.instance}")


def key_file(settings: Settings) -> CheckResult:
    """Checks the key file without the database. Raises `KeyFileError`."""
    generations = len(Keys.load(settings.secret_file).ring("access token"))
    return CheckResult(State.OK, f"{generations} in {settings.secret_file.name}")


def database(database: Database) -> CheckResult:
    """Checks that the database answers, and searches for damage for `LOOK` seconds. Raises `RowError`."""
    database.ping()
    if (damage := database.examine(LOOK)) is not None:
        return CheckResult(State.DOWN, str(damage))
    if (loss := database.loss()) is not None:
        return CheckResult(State.DEGRADED, loss)
    with database.connected():
        warning = database.locale_fault()  # only a warning: the service works, but sorts and compares less exactly
    return CheckResult(State.OK, database.dialect if warning is None else f"{database.dialect}; {warning}")


def files(database: Database) -> CheckResult:
    """Checks that files of exports can be read, if they have their own database (SQLite)."""
    place = database.files
    if not place.exists():
        return CheckResult(State.OK, "none")
    if (fault := place.fault() or place.loss()) is not None:
        return CheckResult(State.DEGRADED, fault)
    try:
        with place.connected():
            answer = place.query("PRAGMA quick_check(1)")[0][0]
    except RowError as error:
        return CheckResult(State.DEGRADED, str(error))
    return CheckResult(State.OK if answer == "ok" else State.DEGRADED, answer)


def probe_result(write_probe: WriteProbe) -> ProbeResult:
    """Returns the result of a write probe. Waits for `PATIENCE` seconds while the write waits for others."""
    for _ in range(int(PATIENCE) + 1):
        result = write_probe.probe()
        if result.waiting is None:
            return result
        sleep(1)
    return result


def tokens(database: Database) -> CheckResult:
    """Counts the valid service tokens, and those that a restore suspended."""
    with database.connected():
        valid, endless = ServiceToken.valid()
        suspended = ServiceToken.held()
    text = f"{valid} service tokens are valid, {endless} of them without end"
    return CheckResult(State.OK, text if not suspended else
                       f"{text}; {suspended} are suspended since a restore; run gatepost token release")


def administrators(database: Database) -> CheckResult:
    """Checks that there is an active administrator."""
    with database.connected():
        number = len(User.administrators())
    if number == 0:
        return CheckResult(State.DOWN, f"no active user is an administrator. {MAKE_ADMINISTRATOR}")
    return CheckResult(State.OK, f"{number} active" if number > 1 else
                       "1 active; a second one could reset the password of the first")


def names(database: Database) -> CheckResult:
    """Lists departments and groups that no condition can name. The state is OK, because rules need not name them."""
    with database.connected():
        return CheckResult(State.OK, unnamed(*User.names()) or "conditions can name each department and group")


def mailboxes(database: Database) -> CheckResult:
    """Checks for several accounts of one mailbox and for undeliverable addresses.

    Both can come only from versions that did not normalize addresses.
    """
    with database.connected():
        wrong = User.misspelled()
        mailboxes: dict[str, list[str]] = {}
        impossible = []
        for id, email in wrong:
            if (mailbox := normalize(email)) is None:
                impossible.append(f"{id} {email}")
            else:
                mailboxes.setdefault(mailbox, []).append(f"{id} {email}")
        shown = dict(list(mailboxes.items())[:MOST_USERS])
        for mailbox, id in User.by_mailboxes(list(shown)).items():
            shown[mailbox].insert(0, f"{id} {mailbox}")
    if not wrong:
        return CheckResult(State.OK, "all addresses are normalized")
    parts = []
    if mailboxes:
        lines = "\n".join(f"  {mailbox}: {', '.join(users)}" for mailbox, users in shown.items())
        parts.append(f"{_number(len(mailboxes), 'mailbox has', 'mailboxes have')} accounts in other spellings. "
                     "Each logs in with its stored spelling. Give all but one of each another address (PATCH "
                     "/api/users/<id>) or erase them (gatepost user erase <id>); then PATCH the last one with its own "
                     f"address:\n{lines}{_others(len(mailboxes))}")
    if impossible:
        lines = "\n".join(f"  {user}" for user in impossible[:MOST_USERS])
        parts.append(f"{_number(len(impossible), 'address', 'addresses')} that cannot receive mail. Give the users "
                     f"other ones (PATCH /api/users/<id>):\n{lines}{_others(len(impossible))}")
    return CheckResult(State.DEGRADED, "\n".join(parts))


def _number(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _others(number: int) -> str:
    return f"\n  and {number - MOST_USERS} others" if number > MOST_USERS else ""


def erasures(database: Database) -> CheckResult:
    """Checks that no erasure of a user was interrupted."""
    with database.connected():
        ids = unfinished()
    if not ids:
        return CheckResult(State.OK, "all are complete")
    commands = "\n".join(f"gatepost user erase {id}" for id in ids[:MOST_USERS])
    return CheckResult(State.DEGRADED, f"{len(ids)} are incomplete; run:\n{commands}")


def words(settings: Settings, collections: Iterable[Collection]) -> CheckResult:
    """Checks that the indexes of words have all rows. Raises `RowError`."""
    incomplete, unknown = [], []
    quick_settings = type(settings)(**{**vars(settings), "statement_timeout": WORDS})
    with database_of(quick_settings) as database, database.connected():
        if database.read_only:
            return CheckResult(State.OK, "not checked, because the database is read-only")
        for collection in collections:
            if collection.search:
                try:
                    if has_lost_words(database, collection.model, WORDS):
                        incomplete.append(collection.name)
                except TimedOut:
                    unknown.append(collection.name)
    if incomplete:
        return CheckResult(
            State.DEGRADED,
            f"searches do not find all {', '.join(incomplete)}; run gatepost compact to rebuild the indexes")
    unchecked = f"; not checked, because it takes too long: {', '.join(unknown)}" if unknown else ""
    return CheckResult(State.OK, f"all indexes are complete{unchecked}")


def without_role(roles: list[str]) -> str:
    """Returns a sentence about users whose role no longer exists: they have no permissions."""
    number, shown = User.number_with_roles(roles), User.with_roles(roles, MOST_USERS)
    others = f" and {number - len(shown)} others" if number > len(shown) else ""
    declare = [f"g, {role}, guest" for role in roles if role != GUEST]
    or_declare = f", or declare theirs in roles.csv: {declare[0]}" if declare else ""
    return (f"users have no permissions, because no user can have their role ({', '.join(roles)}): {', '.join(shown)}"
            f"{others}. Give them another one (PATCH /api/users/<id>){or_declare}")


def shares(database: Database, collections: Iterable[Collection]) -> CheckResult:
    """Checks for stored shares with guests, which have no effect."""
    names = {collection.resource: collection.name for collection in collections}
    with database.connected():
        number, some = share.named(GUESTS, names, MOST_SHARES)
    if number == 0:
        return CheckResult(State.OK, "none is with guests")
    requests = "\n".join(f"DELETE /api/{names[stored.resource]}/{stored.object_id}/shares?grantee={GUESTS}"
                         for stored in some)
    others = f"\nand {number - len(some)} others" if number > len(some) else ""
    return CheckResult(
        State.DEGRADED,
        f"{number} with {GUESTS} have no effect; share with role:user instead, and remove "
        f"them:\n{requests}{others}")


def sizes(settings: Settings, database: Database) -> CheckResult:
    """Lists the sizes of the database, the backups and the largest tables, in MiB and rows."""
    with database.connected():
        size = measure(database)
    parts = [f"database {_mebibytes(size.database)}"]
    if size.log is not None:
        parts.append(f"its log {_mebibytes(size.log)}")
    if size.files is not None:
        parts.append(f"files of exports {_mebibytes(size.files)}")
    backup_sizes = checks.kept_backups(settings.backups)
    parts.append(f"{len(backup_sizes)} backups {_mebibytes(sum(backup_sizes))}")
    parts += [f"{table.name} about {table.rows} rows" + ("" if table.bytes is None else f" {_mebibytes(table.bytes)}")
              for table in size.tables[:LARGEST] if table.rows or table.bytes]
    if size.since is not None:
        parts.append(f"audit since {size.since[:10]}")
    return CheckResult(State.OK, ", ".join(parts))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def _name(user: int) -> str:
    try:
        return getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
