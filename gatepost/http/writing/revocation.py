"""Cascade of a withdrawn right to share: ends the shares that its holder granted, and those granted in turn.

A share stays while its granter could grant it again. They can if they own the object, or if the policy lets them manage
or share it now: by a rule without shares, or by a share that does not depend on the withdrawn one. Two granters cannot
support each other, as with REVOKE … CASCADE in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from models.base import Record, Rows
from models.tables import share
from models.tables.user import User
from policies.evaluation.rights import rights_for

from ..request.access import Access
from ..request.call import Call
from ..request.identity import principal_of

SHARING = rights_for("share")


def retract(call: Call, resource: str, row: Record, lost: Collection[str]) -> int:
    """Withdraws the shares that the grantees `lost` have granted on the row, and returns their number.

    The rights of `lost` are already withdrawn, and the row is locked against new grants. A user in `lost` is one
    granter. A group or a role may have given any granter the right to share, even one who has left it.
    """
    shares = share.of_object(call.tenant_id, resource, row.id)
    granters = frozenset(item.granted_by for item in shares if item.granted_by is not None)
    passed: dict[str, list[str]] = {id: [] for id in granters}
    for item in shares:
        if item.granted_by is not None and item.right in SHARING:
            passed[item.granted_by].append(item.grantee)

    def holders_of(grantee: str) -> Collection[str]:
        kind, _, id = grantee.partition(":")
        return granters & {id} if kind == "user" else granters

    suspects = _follow({id for grantee in lost for id in holders_of(grantee)}, passed, holders_of)
    firm = {item.grantee for item in shares if item.granted_by not in suspects and item.right in SHARING}
    stranded = suspects - _covered(call, resource, row, suspects, passed, firm)
    return sum(share.withdraw_granted(call.tenant_id, resource, row.id, id) for id in sorted(stranded))


def retract_user(call: Call, user: User) -> None:
    """Withdraws all shares with a user, and all shares that they granted, before the user is deleted."""
    share.forget(user.tenant_id, f"user:{user.id}")
    models = {collection.resource: collection.model for collection in call.services.collections.values()}
    for resource, id in share.granted_on(user.tenant_id, user.id):
        # The lock comes before the query: another grant on the object is either committed, or waits.
        row = Rows(models[resource], user.tenant_id).find(id, lock=True) if resource in models else None
        # Without the blueprint `sharing` nobody may share. Then there is no cascade: grants by others stay.
        lost = [] if share.are_ignored() else [
            item.grantee for item in share.of_object(user.tenant_id, resource, id)
            if item.granted_by == user.id and item.right in SHARING]
        share.withdraw_granted(user.tenant_id, resource, id, user.id)
        if row is not None and lost:
            retract(call, resource, row, lost)


def _covered(call: Call, resource: str, row: Record, suspects: Collection[str], passed: Mapping[str, Iterable[str]],
             firm: Collection[str]) -> set[str]:
    """Returns those of `suspects` who may still share the row.

    They may by a rule without shares, by a share with a grantee in `firm`, or by a share from such a suspect.
    """
    people = {user.id: Access(call.access.policy, principal_of(user), call.access.environment)
              for user in Rows(User, call.tenant_id).find_all(suspects)}
    holders: dict[str, set[str]] = {}
    for id, access in people.items():
        for grantee in access.grantees:
            holders.setdefault(grantee, set()).add(id)
    by_share = {id for id, access in people.items() if _may_share(access, resource, row, shared=True)}
    by_rule = {id for id, access in people.items() if _may_share(access, resource, row, shared=False)}
    by_firm_share = {id for grantee in firm for id in holders.get(grantee, ())}
    return _follow(by_rule | (by_firm_share & by_share), passed, lambda grantee: holders.get(grantee, set()) & by_share)


def _may_share(access: Access, resource: str, row: Record, *, shared: bool) -> bool:
    """True if the principal may share the row now. `shared`: suppose that they hold a share with that right.

    Owners always may.
    """
    facts, principal, environment = row.__data__, access.principal, access.environment
    return (facts.get("owner_id") == principal.id
            or access.policy.decide(principal, f"{resource}.share", facts, environment, lambda *_: shared)
            or access.policy.decide(principal, f"{resource}.manage", facts, environment))


def _follow(starts: Iterable[str], passed: Mapping[str, Iterable[str]],
            holders_of: Callable[[str], Collection[str]]) -> set[str]:
    """Returns these granters, and all users whom the right to share has reached from them."""
    users = set(starts)
    waiting = list(users)
    while waiting:
        for grantee in passed[waiting.pop()]:
            new = [id for id in holders_of(grantee) if id not in users]
            users.update(new)
            waiting += new
    return users
