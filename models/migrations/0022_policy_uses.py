"""Counts of the uses of policy rules by day, and the processes that counted them.

A count is a 64-bit integer, like `money`.
"""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE policy_uses (
            line {key} NOT NULL,
            permission {key} NOT NULL,
            day {key} NOT NULL,
            count {money} NOT NULL,
            PRIMARY KEY (line, permission, day)
        ) {strict}
        """,
        "CREATE INDEX policy_uses_day ON policy_uses (day)",
        """
        CREATE TABLE policy_counters (
            id {id} NOT NULL PRIMARY KEY,
            since {time} NOT NULL,
            stored_at {time} NOT NULL,
            ended {bool} NOT NULL
        ) {strict}
        """,
        "CREATE INDEX policy_counters_stored ON policy_counters (stored_at)",
    )
