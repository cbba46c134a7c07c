"""From where somebody logged in is found by an index of logins alone, which other writes do not touch."""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        # As `models.tables.audit.origins` asks, with these very constants.
        """
        CREATE INDEX audit_logins ON audit (tenant_id, principal, time, address)
        WHERE resource = 'session' AND action = 'create' AND result = 'allowed'
        """,
    )
