"""Credentials that one node ends, and the time until the other nodes refuse them."""

from __future__ import annotations

from time import monotonic

from tests.incidents.failover.nodes import Nodes
from tests.running import PASSWORD, wait_until


def revoked(nodes: Nodes, admin: str, name: str) -> dict[str, float]:
    """Returns the seconds from the answer of the node that ends a credential until all other nodes refuse it.

    The keys are the ways to end it: `logout`, `disable`, `token`.
    """
    first, *others = [node.asked() for node in nodes.each]
    email = f"{name}@example.org"
    status, user = first.call("POST", "/api/users", {"name": name, "email": email, "password": PASSWORD}, admin)
    assert status == 201, user
    taken: dict[str, float] = {}

    def end(how: str, token: str, method: str, path: str, by: str) -> None:
        for node in others:
            assert node.call("GET", "/api/profile", token=token)[0] == 200
        status, answer = first.call(method, path, None, by)
        assert status in (200, 204), answer
        ended = monotonic()
        for node in others:
            wait_until(lambda node=node: node.call("GET", "/api/profile", token=token)[0] == 401)
        taken[how] = monotonic() - ended

    session = first.log_in(email)
    end("logout", session, "POST", "/api/logout", session)
    session = first.log_in(email)
    status, made = first.call("POST", "/api/tokens", {"name": name, "scopes": ["read:profile"]}, session)
    assert status == 201, made
    end("token", made["token"], "DELETE", f"/api/tokens/{made['id']}", session)
    end("disable", session, "POST", f"/api/users/{user['id']}/disable", admin)
    return taken
