"""How many requests were answered in each minute of the last day, by what became of them and how long they took.

A count is a whole number of 64 bits, which `money` is, too.
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
