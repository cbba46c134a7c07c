"""The requests that a question about a permission means: which methods they have, and what else they ask for.

explain, who, AuthZEN and `allowed_actions` ask what these endpoints ask, so that their answers are the service's.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from policies import Policy
from policies.evaluation.rights import is_read

from .endpoint import Endpoint

_MAKING = ("POST", "PUT", "PATCH")  # by which a permission is asked for that no endpoint asks for alone, such as manage


class _Collection(Protocol):
    @property
    def view(self) -> str: ...


@dataclass(frozen=True)
class Meant:
    """The requests that a question means.

    endpoints  one of each method, the likeliest first; none where no request asks for the permission alone
    needed     the permissions that all of them ask for, in their order; that of the question is the last
    methods    of the requests, the likeliest first
    """

    endpoints: tuple[Endpoint, ...]
    needed: tuple[str, ...]
    methods: tuple[str, ...]

    @property
    def endpoint(self) -> Endpoint | None:
        return next(iter(self.endpoints), None)

    def told_apart(self, policy: Policy) -> tuple[str, ...]:
        """The methods that the rules may answer differently: the likeliest alone, where they look at none."""
        return self.methods if reads_method(policy, self.needed) else self.methods[:1]


def reads_method(policy: Policy, permissions: tuple[str, ...]) -> bool:
    """True if rules about these permissions look at the method or the kind of the request."""
    read = policy.looks_at(permissions).env
    return "method" in read or "request" in read


def meant(found: Collection[Endpoint], permission: str, collection: _Collection | None, *, about_row: bool,
          method: str | None = None) -> Meant:
    """Selects the requests that a question about a permission means.

    found      the endpoints that ask for the permission
    about_row  whether the question is about a row of the collection
    method     the only method that is asked about; None: any
    """
    # A write before what reads it; PATCH is the change, PUT its twin.
    ordered = sorted(found, key=lambda one: (("<id>" in one.path) != about_row, not one.writes,
                                             one.method not in ("PATCH", "PUT"), one.method != "PATCH"))
    if method is not None:
        named = [one for one in ordered if one.method == ("GET" if method == "HEAD" else method)]
        ordered = (named or ordered)[:1]
    by_method: dict[str, Endpoint] = {}
    for one in ordered:
        if ("<id>" in one.path) == ("<id>" in ordered[0].path):
            by_method.setdefault(one.method, one)
    endpoints = tuple(by_method.values())
    methods = tuple(one.method for one in endpoints) or (("GET",) if is_read(permission) else _MAKING)
    return Meant(endpoints, _needed(permission, collection, next(iter(endpoints), None), about_row=about_row),
                 methods if method is None else (method,))


def _needed(permission: str, collection: _Collection | None, endpoint: Endpoint | None, *,
            about_row: bool) -> tuple[str, ...]:
    if collection is None:
        return (permission,)
    needed = [permission]
    imports = endpoint is not None and endpoint.narrows and endpoint.writes
    if imports and about_row:  # a line about a row that is there changes it
        needed.insert(0, f"{permission.partition('.')[0]}.update")
    if about_row or (not imports and (endpoint is None or endpoint.narrows or "<id>" in endpoint.path)):
        needed.insert(0, collection.view)  # what may not be viewed is not there
    return tuple(dict.fromkeys(needed))
