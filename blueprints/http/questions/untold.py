"""What the reasons of a decision would tell of a person or an object that the asker may not see."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from models.base import Rows, is_id
from models.tables import share
from models.tables.user import User

from ..protocol.messages import Message
from ..protocol.problems import Problem
from ..request.access import Access
from ..request.call import Call, Peer
from ..request.reasons import hidden_of
from .predicted import Prediction

_GROUP = "group:"
_PERSON = re.compile(r"user:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_BATCH = 500  # persons in one statement: rules may name more than a database takes at once


def refuse_to_tell(call: Call, found: Prediction, person: dict[str, Any] | None, collection: Peer | None) -> None:
    """403 when the reasons look at a field that the caller may not see: they would tell what is in it."""
    question, row = found.question, None if found.question.row is None else found.question.row.__data__
    permissions = {question.permission}
    if collection is not None and row is not None:
        permissions.add(collection.view)
    secret = told_by(call, question.access, permissions, person, collection, row, creates=question.verb == "create")
    if collection is not None and row is not None:
        secret |= {name for rule in found.rules for name in rule.reads} & hidden_of(call, collection, dict(row))
    users = call.services.collections["users"]
    if any(rule.user_id is not None and users.visible(call, rule.user_id) is None for rule in found.rules):
        secret.add("role")
    refuse_to_tell_fields(secret)


def told_by(call: Call, access: Access, permissions: Iterable[str], person: dict[str, Any] | None,
            collection: Peer | None, row: Mapping[str, Any] | None, *, creates: bool = False) -> set[str]:
    """The fields of a person and a row that decide about these permissions, and that the caller may not see."""
    asked_for = list(permissions)
    reads = {read for one in asked_for for read in access.policy.reads(access.principal, one)}
    secret = set[str]()
    if person is not None:
        asked = {name for root, name in reads if root == "sub"}
        if creates and ("obj", "department") in reads:
            asked.add("department")  # a new row gets that of the person
        if row is not None and collection is not None and any(
                access.policy.asks_shares(access.principal, one) for one in asked_for) and any(
                one.grantee.startswith(_GROUP) for one in share.of_object(call.tenant_id, collection.resource,
                                                                          row["id"])):
            asked.add("groups")  # whichever groups the person has: the refusal must not tell, either
        # Whom the caller sees is of the caller's tenant.
        secret |= (asked - {"tenant_id"}) & hidden_of(call, call.services.collections["users"], person)
    if collection is not None and row is not None:
        secret |= {name for root, name in reads if root == "obj"} & hidden_of(call, collection, dict(row))
    return secret


def refuse_to_tell_fields(secret: Collection[str]) -> None:
    """403 for fields that would be told and must not be, if there are any."""
    if secret:
        raise Problem("forbidden", Message("The reasons would tell {fields}, which you may not see.",
                                           fields=", ".join(sorted(secret))))


def persons_in(text: str) -> list[str]:
    """The persons (`user:<id>`) that a text names."""
    return _PERSON.findall(text)


def told_persons(call: Call, names: Iterable[str]) -> frozenset[str]:
    """Those of the persons among `names` (`user:<id>`) of whom the caller may be told; and "", which is no person."""
    by_id = {name.partition(":")[2]: name for name in names}
    ids = [id for id in by_id if is_id(id)] if call.principal.kind != "guest" else []
    rows, found = Rows(User, call.tenant_id), {""}
    for start in range(0, len(ids), _BATCH):
        users = rows.select(User.id).where(User.id.in_(ids[start:start + _BATCH]))
        found |= {by_id[user.id] for user in users}
    return frozenset(found)
