"""Connections, transactions, deadlines and errors, alike on both databases.

Code here knows no table. `sqlite` and `postgres` hold the differences, and do not import each other; `connect` chooses
between them. Imports no other room.
"""
