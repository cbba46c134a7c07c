"""What an audit row knows beside its columns: the e-mail that was tried, the fields, the filters of an export, as JSON.

Rows of before keep null, and their seals prove them as they were: what is null is not part of a sealed row.
"""

from models import ddl


def up(migrator, db):
    ddl.run(db, "ALTER TABLE audit ADD COLUMN facts TEXT")
