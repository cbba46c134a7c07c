"""Redaction of answers about rules: hides fields and ids that the caller may not see.

Answers about rules never show ids of users of other tenants. Rules name users by key (`user:<id>`), conditions and
parameters by the id alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import Problem
from gatepost.http.request.access import Access
from gatepost.http.request.call import Call, Peer
from gatepost.http.request.reasons import hidden_of
from models.base import Rows, is_id
from models.tables import share
from models.tables.user import User

_ID = re.compile(r"(user:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)
_LENGTH = 36  # characters of an id
_BATCH = 500  # users in one statement; rules may name more than a database accepts at once
_WITHHELD = "…"  # replaces an id
T = TypeVar("T")


def hidden_fields_read(call: Call, access: Access, permissions: Iterable[str], person: dict[str, Any] | None,
            collection: Peer | None, rows: Sequence[Mapping[str, Any]], *, creates: bool = False) -> set[str]:
    """Returns the names of fields that a decision about these permissions reads, but that the caller may not see.

    `person` and `rows` are the values of the user and of the objects.
    """
    needed = list(permissions)
    reads = {read for permission in needed for read in access.policy.reads(access.principal, permission)}
    secret = set[str]()
    if person is not None:
        of_user = {name for root, name in reads if root == "sub"}
        if creates and ("obj", "department") in reads:
            of_user.add("department")  # a new row gets the department of its owner
        if rows and collection is not None and any(
                access.policy.asks_shares(access.principal, permission) for permission in needed) and share.with_groups(
                call.tenant_id, collection.resource, [row["id"] for row in rows]):
            of_user.add("groups")  # even if the user is in none of the groups, because a refusal would reveal that
        # `tenant_id` is no secret: the user is in the caller's tenant.
        secret |= (of_user - {"tenant_id"}) & hidden_of(call, call.services.collections["users"], person)
    if collection is not None:
        of_rows = {name for root, name in reads if root == "obj"}
        for row in rows:
            secret |= of_rows & hidden_of(call, collection, row)
    return secret


def refuse_hidden_fields(secret: Collection[str]) -> None:
    """Raises `Problem` (403) if there are hidden fields that the reasons would reveal."""
    if secret:
        raise Problem("forbidden", Message("The reasons would tell {fields}, which you may not see.",
                                           fields=", ".join(sorted(secret))))


def visible_persons(call: Call, names: Iterable[str]) -> frozenset[str]:
    """Returns those of the users `names` (`user:<id>`) whom the caller may see, and "", which names no user."""
    by_id = {name.partition(":")[2]: name for name in names}
    ids = [id for id in by_id if is_id(id)] if call.principal.kind != "guest" else []
    rows, visible = Rows(User, call.tenant_id), {""}
    for start in range(0, len(ids), _BATCH):
        users = rows.select(User.id).where(User.id.in_(ids[start:start + _BATCH]))
        visible |= {by_id[user.id] for user in users}
    return frozenset(visible)


def hidden_ids(call: Call, texts: Iterable[str]) -> frozenset[str]:
    """Returns the ids in these texts that the caller may not see.

    They are the ids of users of other tenants, and those in `user:<id>` of users that do not exist.
    """
    ids_in_texts: dict[str, bool] = {}
    for text in texts:
        for key, id in _ID.findall(text) if len(text) >= _LENGTH else ():
            ids_in_texts[id.lower()] = bool(key) or ids_in_texts.get(id.lower(), False)
    own_tenant, tenants = None if call.principal.kind == "guest" else call.tenant_id, User.tenants(list(ids_in_texts))
    return frozenset(id for id, as_user in ids_in_texts.items()
                     if (as_user or id in tenants) and tenants.get(id, "") != own_tenant)


def mentions(text: str, ids: Collection[str]) -> bool:
    """True if a text contains one of these ids."""
    return bool(ids) and len(text) >= _LENGTH and any(id.lower() in ids for _, id in _ID.findall(text))


def withheld(call: Call, answer: T) -> T:
    """Returns an answer about the rules with `…` for each id that the caller may not see (`hidden_ids`)."""
    ids = hidden_ids(call, _texts(answer))
    return cast(T, _without(answer, ids)) if ids else answer


def trouble(call: Call) -> str | None:
    """Returns why the current policy may differ from the files (`Watcher.trouble`), redacted for the caller."""
    status = call.services.policy.status
    if status.error is None:
        return call.services.policy.trouble
    visible = visible_persons(call, (finding.person for finding in status.findings))
    lines = [str(finding) for finding in status.findings if finding.person in visible]
    if hidden := len(status.findings) - len(lines):
        lines.append(f"{hidden} findings about users of other tenants are left out")
    return withheld(call, "\n".join(lines))


def _texts(answer: Any) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, Mapping):
        for name, value in answer.items():
            yield str(name)
            yield from _texts(value)
    elif isinstance(answer, Iterable):
        for value in answer:
            yield from _texts(value)


def _without(answer: Any, ids: Collection[str]) -> Any:
    if isinstance(answer, str):
        # Text without such an id is returned as the same object: it may be a `Message`, which is translated later.
        return _ID.sub(lambda match: _WITHHELD if match[2].lower() in ids else match[0], answer) if mentions(
            answer, ids) else answer
    if isinstance(answer, Mapping):
        return {_without(name, ids): _without(value, ids) for name, value in answer.items()}
    return [_without(value, ids) for value in answer] if isinstance(answer, list | tuple) else answer
