"""Persons who were erased: their users row stays as a tombstone, and the erasure is written down for good.

What is written down says nothing of the person but the id, so that a backup of before can be restored without them.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        "ALTER TABLE users ADD COLUMN erased_at {time}",
        # No reference: an older backup may not have the person or the heir.
        """
        CREATE TABLE erasures (
            user_id {id} NOT NULL PRIMARY KEY,
            begun_at {time} NOT NULL,
            erased_at {time},
            heir_id {id}
        ) {strict}
        """,
    )
