"""Requests that a question about a permission means: their methods, and the other permissions that they need.

explain, who, AuthZEN and `allowed_actions` evaluate the permissions of these endpoints, so that their answers agree
with the service's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from policies import Policy
from policies.evaluation.rights import is_read

from .endpoint import Endpoint

_MAKING = ("POST", "PUT", "PATCH")  # methods of a permission that no endpoint needs alone, such as manage


class _Collection(Protocol):
    @property
    def view(self) -> str: ...


@dataclass(frozen=True)
class ImpliedRequests:
    """Requests that a question means.

    endpoints  one for each method, the likeliest first; none if no request needs the permission alone
    needed     the permissions that all of them need, in their order; that of the question is the last
    methods    methods of the requests, the likeliest first
    """

    endpoints: tuple[Endpoint, ...]
    needed: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def endpoint(self) -> Endpoint | None:
        return next(iter(self.endpoints), None)

    def distinct_methods(self, policy: Policy) -> tuple[str, ...]:
        """Returns the methods for which the rules may decide differently; only the likeliest if they read none."""
        return self.methods if reads_method(policy, self.needed) else self.methods[:1]


def reads_method(policy: Policy, permissions: tuple[str, ...]) -> bool:
    """True if rules about these permissions read the method or the kind of the request."""
    attributes = policy.looks_at(permissions).env
    return "method" in attributes or "request" in attributes


def implied_requests(candidates: Collection[Endpoint], permission: str, collection: _Collection | None, *,
                     about_row: bool, method: str | None = None) -> ImpliedRequests:
    """Selects the requests that a question about a permission means.

    candidates  the endpoints that need the permission
    about_row   True if the question is about a row of the collection
    method      the method of the question; None: any method
    """
    # A write comes before a read, and PATCH before PUT.
    ordered = sorted(candidates, key=lambda endpoint: (
        ("<id>" in endpoint.path) != about_row, not endpoint.writes, endpoint.method not in ("PATCH", "PUT"),
        endpoint.method != "PATCH"))
    if method is not None:
        with_method = [endpoint for endpoint in ordered if endpoint.method == ("GET" if method == "HEAD" else method)]
        ordered = (with_method or ordered)[:1]
    by_method: dict[str, Endpoint] = {}
    for endpoint in ordered:
        if ("<id>" in endpoint.path) == ("<id>" in ordered[0].path):
            by_method.setdefault(endpoint.method, endpoint)
    endpoints = tuple(by_method.values())
    methods = tuple(endpoint.method for endpoint in endpoints) or (("GET",) if is_read(permission) else _MAKING)
    return ImpliedRequests(endpoints, _needed(permission, collection, next(iter(endpoints), None), about_row=about_row),
                 methods if method is None else (method,))


def _needed(permission: str, collection: _Collection | None, endpoint: Endpoint | None, *,
            about_row: bool) -> tuple[str, ...]:
    if collection is None:
        return (permission,)
    needed = [permission]
    imports = endpoint is not None and endpoint.narrows and endpoint.writes
    if imports and about_row:  # a line about an existing row changes it
        needed.insert(0, f"{permission.partition('.')[0]}.update")
    if about_row or (not imports and (endpoint is None or endpoint.narrows or "<id>" in endpoint.path)):
        needed.insert(0, collection.view)  # a row that the caller may not view does not exist for them
    return tuple(dict.fromkeys(needed))
