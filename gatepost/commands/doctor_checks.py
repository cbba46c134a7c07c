"""What `gatepost doctor` looks at beside the checks of health: what takes longer, or concerns the machine."""

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
from gatepost.health.finding import Found, State
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

LARGEST = 5  # tables that are named
MOST_USERS = 20  # that are named
MOST_FILES = 3  # that are named
MOST_SHARES = 20  # that are named
LOOK = 10.0  # seconds for which damage is looked for
WORDS = 2.0  # seconds for which an index of words is compared with its rows, while writers wait


def instance(settings: Settings) -> Found:
    """The folder, which nobody else may look into."""
    if not settings.instance.is_dir():
        return Found(State.DOWN, f"there is none in {settings.instance}; gatepost init")
    mode = stat.S_IMODE(settings.instance.stat().st_mode)
    if mode & 0o077:
        return Found(State.DOWN, f"mode {mode:o} lets others in; chmod 700 {settings.instance}")
    return Found(State.OK, str(settings.instance))


def owners(settings: Settings) -> Found:
    """Whether the service can use what is there: all of it belongs to the owner of the folder."""
    owner = settings.instance.stat().st_uid
    others = [file for file in _files(settings.instance) if file.lstat().st_uid != owner]
    if not others:
        return Found(State.OK, f"everything belongs to {_name(owner)}")
    named = ", ".join(str(file.relative_to(settings.instance)) for file in others[:MOST_FILES])
    more = f" and {len(others) - MOST_FILES} others" if len(others) > MOST_FILES else ""
    return Found(State.DEGRADED, f"{named}{more} do not belong to {_name(owner)}, who serves; "
                                 f"chown -R {_name(owner)} {settings.instance}")


def key_file(settings: Settings) -> Found:
    """The key ring alone. Raises `KeyFileError`."""
    generations = len(Keys.load(settings.secret_file).ring("access token"))
    return Found(State.OK, f"{generations} in {settings.secret_file.name}")


def database(database: Database) -> Found:
    """Whether it answers, and is whole as far as it is looked through. Raises `RowError`."""
    database.ping()
    if (damage := database.examine(LOOK)) is not None:
        return Found(State.DOWN, str(damage))
    if (loss := database.loss()) is not None:
        return Found(State.DEGRADED, loss)
    with database.connected():
        warning = database.locale_fault()  # no fault of the service: it answers, and only less exactly
    return Found(State.OK, database.dialect if warning is None else f"{database.dialect}; {warning}")


def files(database: Database) -> Found:
    """Checks that files of exports can be read, where they have a database of their own (SQLite)."""
    place = database.files
    if not place.exists():
        return Found(State.OK, "none")
    if (said := place.fault() or place.loss()) is not None:
        return Found(State.DEGRADED, said)
    try:
        with place.connected():
            said = place.query("PRAGMA quick_check(1)")[0][0]
    except RowError as error:
        return Found(State.DEGRADED, str(error))
    return Found(State.OK if said == "ok" else State.DEGRADED, said)


def probe_result(write_probe: WriteProbe) -> ProbeResult:
    """Returns the result of a write. Gives a waiting write the time after which it would fail."""
    for _ in range(int(PATIENCE) + 1):
        result = write_probe.probe()
        if result.waiting is None:
            return result
        sleep(1)
    return result


def tokens(database: Database) -> Found:
    """How many act, and how many a restore holds."""
    with database.connected():
        valid, endless = ServiceToken.valid()
        held = ServiceToken.held()
    said = f"{valid} service tokens are valid, {endless} of them without end"
    return Found(State.OK, f"{said}; {held} are held since a restore: gatepost token release" if held else said)


def administrators(database: Database) -> Found:
    """Whether there is one."""
    with database.connected():
        number = len(User.administrators())
    if number == 0:
        return Found(State.DOWN, f"no active user is an administrator. {MAKE_ADMINISTRATOR}")
    return Found(State.OK, f"{number} active" if number > 1 else
                 "1 active; a second one could let the first in again")


def names(database: Database) -> Found:
    """Departments and groups that no condition can name. They are no fault: no rule need name them."""
    with database.connected():
        return Found(State.OK, unnamed(*User.names()) or "conditions can name each department and group")


def mailboxes(database: Database) -> Found:
    """Accounts of one mailbox, and addresses that no mail reaches: both from before addresses were normalized."""
    with database.connected():
        wrong = User.misspelled()
        mailboxes: dict[str, list[str]] = {}
        impossible = []
        for id, email in wrong:
            if (mailbox := normalize(email)) is None:
                impossible.append(f"{id} {email}")
            else:
                mailboxes.setdefault(mailbox, []).append(f"{id} {email}")
        named = dict(list(mailboxes.items())[:MOST_USERS])
        for mailbox, id in User.by_mailboxes(list(named)).items():
            named[mailbox].insert(0, f"{id} {mailbox}")
    if not wrong:
        return Found(State.OK, "each is in the one spelling of its mailbox")
    said = []
    if mailboxes:
        listed = "\n".join(f"  {mailbox}: {', '.join(users)}" for mailbox, users in named.items())
        said.append(f"{_number(len(mailboxes), 'mailbox has', 'mailboxes have')} accounts under other spellings, which "
                    "log in as they are stored. Give all but one of each another address (PATCH /api/users/<id>) or "
                    "erase them (gatepost user erase <id>); then PATCH the last one with its own address:\n"
                    f"{listed}{_others(len(mailboxes))}")
    if impossible:
        listed = "\n".join(f"  {one}" for one in impossible[:MOST_USERS])
        said.append(f"{_number(len(impossible), 'address', 'addresses')} that no mail reaches. Give the users other "
                    f"ones (PATCH /api/users/<id>):\n{listed}{_others(len(impossible))}")
    return Found(State.DEGRADED, "\n".join(said))


def _number(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _others(number: int) -> str:
    return f"\n  and {number - MOST_USERS} others" if number > MOST_USERS else ""


def erasures(database: Database) -> Found:
    """Whether each erasure of a person that was begun has ended."""
    with database.connected():
        begun = unfinished()
    if not begun:
        return Found(State.OK, "none was broken off")
    named = "\n".join(f"gatepost user erase {id}" for id in begun[:MOST_USERS])
    return Found(State.DEGRADED, f"{len(begun)} were broken off; complete them:\n{named}")


def words(settings: Settings, collections: Iterable[Collection]) -> Found:
    """Whether searches find what is stored. Raises `RowError`."""
    lost, unknown = [], []
    hurried = type(settings)(**{**vars(settings), "statement_timeout": WORDS})
    with database_of(hurried) as database, database.connected():
        if database.read_only:
            return Found(State.OK, "not looked through, since nothing can be written here")
        for collection in collections:
            if collection.search:
                try:
                    if has_lost_words(database, collection.model, WORDS):
                        lost.append(collection.name)
                except TimedOut:
                    unknown.append(collection.name)
    if lost:
        return Found(State.DEGRADED, f"searches do not find all {', '.join(lost)}; gatepost compact indexes them anew")
    said = "searches find what is stored"
    return Found(State.OK, f"{said}; too many to look through: {', '.join(unknown)}" if unknown else said)


def without_role(gone: list[str]) -> str:
    """Users who may do nothing until they are given another role, or roles.csv declares theirs."""
    number, some = User.number_with_roles(gone), User.with_roles(gone, MOST_USERS)
    others = f" and {number - len(some)} others" if number > len(some) else ""
    declare = [f"g, {role}, guest" for role in gone if role != GUEST]
    way_out = f", or declare theirs in roles.csv: {declare[0]}" if declare else ""
    return (f"users may do nothing, because no user can have their role ({', '.join(gone)}): {', '.join(some)}"
            f"{others}. Give them another one (PATCH /api/users/<id>){way_out}")


def shares(database: Database, collections: Iterable[Collection]) -> Found:
    """Stored shares with guests: they give nothing to anybody."""
    names = {collection.resource: collection.name for collection in collections}
    with database.connected():
        number, some = share.named(GUESTS, names, MOST_SHARES)
    if number == 0:
        return Found(State.OK, "none is with guests")
    listed = "\n".join(f"DELETE /api/{names[one.resource]}/{one.object_id}/shares?grantee={GUESTS}" for one in some)
    others = f"\nand {number - len(some)} others" if number > len(some) else ""
    return Found(State.DEGRADED, f"{number} with {GUESTS} give nothing; share with role:user instead, and withdraw "
                                 f"them:\n{listed}{others}")


def sizes(settings: Settings, database: Database) -> Found:
    """How large things have become."""
    with database.connected():
        found = measure(database)
    parts = [f"database {_mebibytes(found.database)}"]
    if found.log is not None:
        parts.append(f"its log {_mebibytes(found.log)}")
    if found.files is not None:
        parts.append(f"files of exports {_mebibytes(found.files)}")
    kept = checks.kept_backups(settings.backups)
    parts.append(f"{len(kept)} backups {_mebibytes(sum(kept))}")
    parts += [f"{table.name} about {table.rows} rows" + ("" if table.bytes is None else f" {_mebibytes(table.bytes)}")
              for table in found.tables[:LARGEST] if table.rows or table.bytes]
    if found.since is not None:
        parts.append(f"audit since {found.since[:10]}")
    return Found(State.OK, ", ".join(parts))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def _name(user: int) -> str:
    try:
        return getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
