"""Index of logins for the networks that a user has logged in from. Other writes do not touch it."""

from models import ddl


def up(migrator, db):
    ddl.run(
        db,
        # `models.tables.audit.origins` must use the same constants.
        """
        CREATE INDEX audit_logins ON audit (tenant_id, principal, time, address)
        WHERE resource = 'session' AND action = 'create' AND result = 'allowed'
        """,
    )
