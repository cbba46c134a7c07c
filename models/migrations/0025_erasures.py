"""Erasures of users: the user's row stays as a tombstone, and the erasure stays on record.

The record contains only the user's id. So an older backup can be restored without the erased users.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        "ALTER TABLE users ADD COLUMN erased_at {time}",
        # No reference: an older backup may lack the user or the heir.
        """
        CREATE TABLE erasures (
            user_id {id} NOT NULL PRIMARY KEY,
            begun_at {time} NOT NULL,
            erased_at {time},
            heir_id {id}
        ) {strict}
        """,
    )
