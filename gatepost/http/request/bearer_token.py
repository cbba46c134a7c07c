"""Bearer token of another service that a feature accepts (`Feature.bearer`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class BearerToken(NamedTuple):
    """A bearer token that a feature accepts. A program acts with it for a user, like one with a service token.

    user_id  id of the user; the token is refused if they are disabled or deleted
    scopes   names of scopes; unknown names have no effect, and without a known one the program may do nothing
    origin   who made the token and for whom, for the audit log: `keycloak for "reports"`
    """

    user_id: str
    scopes: Iterable[str]
    origin: str
