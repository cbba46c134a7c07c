"""Check that the key ring belongs to the database, which stores a fingerprint of the newest key.

With another ring every session would end and no seal could be verified. Its own signatures would become invalid as soon
as the right ring is back.
"""

from __future__ import annotations

from pathlib import Path

from models.engine.database import Database
from models.engine.errors import RowError
from models.tables.instance import note_fingerprint, the_instance
from models.tables.seals import has_seal_of, newest_head

from .keys import (
    FROM_A_BACKUP,
    KeyFileError,
    Keys,
    fingerprints,
    forget_older,
    prepare,
    prepared_fingerprint,
    promote,
    rotate,
)

LOST = "every session ends, and the seals made so far in the audit trail cannot be proved any more"
NEW_KEYS = f"Where it is lost for good: gatepost init --new-key. Then {LOST}."
_WRONG = f"The keys in secret.key are not those of this database. {FROM_A_BACKUP} {NEW_KEYS}"


class WrongKeys(KeyFileError):
    """The ring is that of another database."""

    def __init__(self) -> None:
        super().__init__(_WRONG)


class LostKeys(KeyFileError):
    """A database that is in use has no ring."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} is missing, and its database is in use. {FROM_A_BACKUP} {NEW_KEYS}")


def check(database: Database, keys: Keys) -> None:
    """Raise WrongKeys for the ring of another database; note the newest key of the right one. Raises `RowError`.

    A ring that has the newest key of the database only as a prepared one is right, and behind those of other nodes.
    """
    with database.connected():
        known = the_instance().key_fingerprint
        found = fingerprints(keys)
        if not _fits(known, keys):
            raise WrongKeys
        if not database.read_only and (known is None or known not in (found[0], prepared_fingerprint(keys))):
            database.transact(lambda: note_fingerprint(found[0]))


def fits(database: Database, keys: Keys) -> bool:
    """True if the ring is that of the database, which may wait for migrations. Raises `RowError`."""
    with database.connected():
        return _fits(the_instance().key_fingerprint if database.table_exists("instance") else None, keys)


def is_older(database: Database, keys: Keys) -> bool:
    """True if the ring has sealed audit rows of the database that are still there. Raises `RowError`."""
    with database.connected():
        return has_seal_of([kid for kid, _ in keys.every("audit seal")])


def guard(database: Database, keys: Keys) -> None:
    """`check` for a process that serves: raises `KeyFileError` alone, so that it goes on with the ring that it has."""
    try:
        check(database, keys)
    except RowError as error:
        raise KeyFileError(f"the database cannot say whether these are its keys: {error}") from error


def adopt(database: Database, keys: Keys) -> None:
    """Let the ring be that of the database from now on. Raises `RowError`."""
    database.transact(lambda: note_fingerprint(fingerprints(keys)[0]))


def rotate_known(database: Database, file: Path, *, forget: bool) -> Keys:
    """`promote` the prepared key of the ring of a database, or `rotate` where there is none; the ring as it is then.

    With `forget`, the new key is one that nobody has seen: whoever read the others has read the prepared one, too.
    Whenever this is stopped, the database knows a key that is in the file. Raises `KeyFileError`, `RowError`, OSError.
    """
    before = Keys.load(file)
    check(database, before)
    prepared = next((master for master in before.masters if master.prepared), None)
    ring = rotate(file) if forget or prepared is None else promote(file, prepared)
    adopt(database, ring)
    return forget_older(file) if forget else ring


def prepare_known(database: Database, file: Path) -> Keys:
    """`prepare` a key for the ring of a database; the ring as it is then.

    Raises `KeyFileError`, `RowError`, OSError.
    """
    check(database, Keys.load(file))
    return prepare(file)


def _fits(known: str | None, keys: Keys) -> bool:
    return known in fingerprints(keys) if known is not None else _has_sealed(keys)


def _has_sealed(keys: Keys) -> bool:
    """True if the newest seal names a key of the ring, or if there is no seal.

    Decides for a database that has no fingerprint yet.
    """
    head = newest_head()
    return head is None or head.partition(":")[0] in {kid for kid, _ in keys.every("audit seal")}
