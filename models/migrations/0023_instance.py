"""State of the whole instance, the row for the write probe of the health check, and backups with their verification."""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        """
        CREATE TABLE instance (
            id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
            epoch {key} NOT NULL,
            key_fingerprint {key},
            restored_at {time}
        ) {strict}
        """,
        "INSERT INTO instance (id, epoch) VALUES (1, '')",
        """
        CREATE TABLE heartbeat (
            id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
            written_at {time}
        ) {strict}
        """,
        "INSERT INTO heartbeat (id) VALUES (1)",
        """
        CREATE TABLE backups (
            id {id} NOT NULL PRIMARY KEY,
            made_at {time} NOT NULL,
            place {key} NOT NULL,
            digest {key},
            bytes {money} NOT NULL,
            seconds {real} NOT NULL,
            error TEXT,
            proved_at {time}
        ) {strict}
        """,
        "CREATE INDEX backups_made ON backups (made_at)",
        "CREATE INDEX backups_digest ON backups (digest)",
    )
