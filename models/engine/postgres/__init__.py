"""Postgres through psycopg 3: a pool of connections, and deadlines for a silent server.

Imports from `models.engine`, except from `connect` and `sqlite`.
"""
