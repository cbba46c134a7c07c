"""Check that the key ring belongs to the database, which stores a fingerprint of the newest key.

With another ring every session would end and no seal could be verified. Its own signatures would become invalid as soon
as the right ring is back.
"""

from __future__ import annotations

from collections.abc import Callable
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

LOST = "every session ends, and existing seals of the audit log can no longer be verified"
NEW_KEYS = f"Where it is lost for good: gatepost init --new-key. Then {LOST}."
_WRONG = f"The keys in secret.key are not those of this database. {FROM_A_BACKUP} {NEW_KEYS}"


class WrongKeys(KeyFileError):
    """Error of a ring that belongs to another database."""

    def __init__(self) -> None:
        super().__init__(_WRONG)


class LostKeys(KeyFileError):
    """Error of a database in use without a ring."""

    def __init__(self, file: Path) -> None:
        super().__init__(f"{file} is missing, and its database is in use. {FROM_A_BACKUP} {NEW_KEYS}")


def check(database: Database, keys: Keys) -> None:
    """Raises WrongKeys for the ring of another database. Notes the newest key of the right ring. Raises `RowError`.

    A ring with the newest key of the database as its prepared key is right: the rings of other nodes are newer.
    """
    with database.connected():
        stored = the_instance().key_fingerprint
        identifiers = fingerprints(keys)
        if not _fits(stored, keys):
            raise WrongKeys
        if not database.read_only and (stored is None or stored not in (identifiers[0], prepared_fingerprint(keys))):
            database.transact(lambda: note_fingerprint(identifiers[0]))


def fits(database: Database, keys: Keys) -> bool:
    """True if the ring belongs to the database, which may need migrations. Raises `RowError`."""
    with database.connected():
        return _fits(the_instance().key_fingerprint if database.table_exists("instance") else None, keys)


def is_older(database: Database, keys: Keys) -> bool:
    """True if the ring has sealed existing audit events of the database. Raises `RowError`."""
    with database.connected():
        return has_seal_of([kid for kid, _ in keys.every("audit seal")])


def guard(database: Database, keys: Keys) -> None:
    """Runs `check` in a serving process. Raises only `KeyFileError`, so that the process keeps its ring."""
    try:
        check(database, keys)
    except RowError as error:
        raise KeyFileError(f"the database cannot say whether these are its keys: {error}") from error


def adopt(database: Database, keys: Keys) -> None:
    """Notes the ring as that of the database. Raises `RowError`."""
    database.transact(lambda: note_fingerprint(fingerprints(keys)[0]))


def rotate_known(database: Database, file: Path, *, forget: bool,
                 reencrypt: Callable[[Keys], object] = lambda ring: None) -> Keys:
    """Promotes the prepared key of a database's ring, or rotates the ring if there is none. Returns the new ring.

    With `forget`, the new key is unknown to all: a reader of the old keys has read the prepared one as well. At any
    interruption the database knows a key in the file. `reencrypt` gets the ring with the older keys; if it raises, none
    is dropped. Raises `KeyFileError`, `RowError`, OSError, and the errors of `reencrypt`.
    """
    old = Keys.load(file)
    check(database, old)
    prepared = next((master for master in old.masters if master.prepared), None)
    ring = rotate(file) if forget or prepared is None else promote(file, prepared)
    adopt(database, ring)
    reencrypt(ring)
    if not forget:
        return ring
    newest = forget_older(file)
    reencrypt(ring)  # also what a server has encrypted meanwhile, before it knew the new key
    return newest


def prepare_known(database: Database, file: Path) -> Keys:
    """Prepares a key for the ring of a database, and returns the new ring.

    Raises `KeyFileError`, `RowError`, OSError.
    """
    check(database, Keys.load(file))
    return prepare(file)


def _fits(stored: str | None, keys: Keys) -> bool:
    return stored in fingerprints(keys) if stored is not None else _has_sealed(keys)


def _has_sealed(keys: Keys) -> bool:
    """True if the newest seal names a key of the ring, or if there is no seal.

    Decides for a database that has no fingerprint yet.
    """
    head = newest_head()
    return head is None or head.partition(":")[0] in {kid for kid, _ in keys.every("audit seal")}
