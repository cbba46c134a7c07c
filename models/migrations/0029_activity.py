"""Counts of responses in each minute of the last day, by outcome and duration.

A count is a 64-bit integer, like `money`.
"""

from models import ddl

ROLLING = True


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE activity (
            minute {time} NOT NULL,
            outcome {key} NOT NULL,
            within {money} NOT NULL,
            count {money} NOT NULL,
            PRIMARY KEY (minute, outcome, within)
        ) {strict}
        """,
    )
