"""Whether a key ring is that of the database: it knows the newest key of its ring by a fingerprint.

With another ring no session would hold and no seal be proved, and what it signs would end once the right one is back.
"""

from __future__ import annotations

from pathlib import Path

from models.engine.database import Database
from models.engine.errors import RowError
from models.tables.instance import note_fingerprint, the_instance
from models.tables.seals import newest_head

from .keys import KeyFileError, Keys, fingerprints, forget_older, rotate

LOST = "every session ends, and the seals made so far in the audit trail cannot be proved any more"
_WRONG = ("The keys in secret.key are not those of this database. Put the right secret.key back, from a backup. Where "
          f"it is lost for good: gatepost init --new-key. Then {LOST}.")


class WrongKeys(KeyFileError):
    """The ring is that of another database."""

    def __init__(self) -> None:
        super().__init__(_WRONG)


def check(database: Database, keys: Keys) -> None:
    """Raise WrongKeys for the ring of another database; note the newest key of the right one. Raises `RowError`."""
    with database.connected():
        known = the_instance().key_fingerprint
        found = fingerprints(keys)
        if not (known in found if known is not None else _has_sealed(keys)):
            raise WrongKeys
        if known != found[0]:
            database.transact(lambda: note_fingerprint(found[0]))


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
    """`rotate` the ring of a database. Whenever this is stopped, the database knows a key that is in the file.

    Raises `KeyFileError`, `RowError`, OSError.
    """
    check(database, Keys.load(file))
    ring = rotate(file)
    adopt(database, ring)
    return forget_older(file) if forget else ring


def _has_sealed(keys: Keys) -> bool:
    """Whether the newest seal, if there is one, names a key of the ring: what is known of a database of before."""
    head = newest_head()
    return head is None or head.partition(":")[0] in {kid for kid, _ in keys.every("audit seal")}
