"""SQLite through apsw: connections, the turns of writers, group commit and checkpoints.

docs/sqlite.md describes its guarantees. Imports from `models.engine`, except from `connect` and `postgres`.
"""
