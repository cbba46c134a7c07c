"""Column for further facts of an audit event: the attempted e-mail address, the fields, the filters of an export, as
JSON.

Older rows keep null, and their seals remain valid: null is not part of a sealed row.
"""

from models import ddl


def up(migrator, db):
    ddl.run(db, "ALTER TABLE audit ADD COLUMN facts TEXT")
