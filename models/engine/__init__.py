"""Connections, transactions, deadlines and errors, alike on both databases.

Here belongs what knows no table. `sqlite` and `postgres` hold what differs, and do not import each other; `connect`
chooses between them. Imports no other room.
"""
