"""Postgres through psycopg 3: a pool of connections, and deadlines for a server that is silent.

Imports `models.engine` but for `connect` and `sqlite`.
"""
