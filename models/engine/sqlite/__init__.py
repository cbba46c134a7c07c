"""SQLite through apsw: connections, the turns of writers, group commit and checkpoints.

docs/sqlite.md says what it guarantees. Imports `models.engine` but for `connect` and `postgres`.
"""
