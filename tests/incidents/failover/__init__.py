"""Failures of three nodes behind nginx and of their Postgres primary with a synchronous standby, seen by clients.

`cluster` has the two Postgres servers, `nodes` the nodes, Redis and nginx, `writers` the clients, and `play` a round:
the primary fails, the standby is promoted, the old primary comes back fenced or unfenced, a session is revoked, nodes
are killed. `python -m tests.incidents.failover` (`make failover`) plays rounds of all kinds.
"""
