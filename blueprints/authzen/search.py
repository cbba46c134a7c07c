"""The searches: every subject, resource or action that is permitted, in pages."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from gatepost import Call, Problem
from gatepost.collections.collection import Collection
from gatepost.http.request.access import Narrowing
from gatepost.http.security.cursors import Cursor, CursorError, fingerprint
from models import paging
from models.base import Rows, now
from models.paging import Key, sort_order
from models.records.columns import reader
from models.tables.service_token import ServiceToken
from models.tables.user import User
from policies.questions.holders import NotTold

from .questions import GUEST, ROLE, SERVICE, USER, Known, Question, Subject, role, service, subject_of
from .schemas import Asked

_SUBJECT, _TENANT = "subject ", "tenant"  # prefix of the placeholders of the subject's rights; that of the tenant
_AT_ONCE = 100  # tokens or users read by one statement
_read = reader((User.id, User.created_at))


class Pages:
    """The pages of one search. A token is valid only for its question."""

    def __init__(self, call: Call, name: str, question: Asked) -> None:
        self._call, self._name, self._page = call, f"authzen {name}", question["page"]
        settings = call.services.settings
        kind = "service" if call.principal.kind == "service" else call.principal.role
        most = settings.page_sizes.get(kind, settings.max_page_size)
        self.size = min(self._page.get("limit", settings.page_size), most)
        asked = {key: value for key, value in question.items() if key != "page"}
        self._question = fingerprint(filters={"asked": asked}, sort="", q=None, tenant=call.tenant_id)

    @cached_property
    def cursor(self) -> Cursor:
        """The start of this page. Raises `Problem` for a token of another question."""
        cursors, token = self._call.services.cursors, self._page.get("token")
        try:
            return cursors.read(token, self._name, self._question) if token else cursors.begin(
                self._name, self._question)
        except CursorError as error:
            raise Problem.of([error.fault(pointer="/page/token")], "invalid_body") from None

    def answer(self, results: list[Asked], position: tuple[Any, ...] | None) -> Asked:
        """`position` is that of the last result; None: there is no more."""
        token = "" if position is None else self.cursor.at(position)
        return {"page": {"next_token": token, "count": len(results)}, "results": results}


def subjects(call: Call, asked: Asked) -> Asked:
    """Lists the subjects of the type who are permitted."""
    question = Question(call, asked["resource"]["type"], asked["action"]["name"], asked.get("context", {}))
    pages, kind = Pages(call, "subject", asked), asked["subject"]["type"]
    start, row, id = pages.cursor.position, None, asked["resource"]["id"] if question.verb != "create" else ""
    if not question.known or (id and (row := question.row(id)) is None):
        return pages.answer([], None)
    match kind:
        case "user":
            return _users(question, asked["resource"], row, pages, start)
        case "role":
            names = [name for name in call.access.policy.roles.of_users
                     if question.permits(role(call, name), asked["resource"])]
            return pages.answer([{"type": ROLE, "id": name} for name in names], None)
        case "service":
            return _services(question, asked["resource"], pages, start)
    return pages.answer([], None)


def _users(question: Question, resource: Asked, row: Any, pages: Pages, start: Any) -> Asked:
    call, found, holders = question.call, list[Asked](), question.holders(row)
    if start is None and question.permits(subject_of(call, {"type": USER, "id": GUEST}), resource):
        found.append({"type": USER, "id": GUEST})
    if row is not None and question.hides(row):
        return pages.answer(found, None)
    try:
        narrowing = holders.narrowing
    except NotTold:
        return _one_by_one(question, resource, pages, start, found)
    if narrowing is None:
        return pages.answer(found, None)
    if question.drafts(resource):
        return _one_by_one(question, resource, pages, start, found)
    page = paging.walk(call.services.database, _of_users(call, narrowing), narrowing.values, size=pages.size,
                       position=start)
    found += [{"type": USER, "id": user["id"]} for user in map(_read_id, page.rows)]
    return pages.answer(found, page.last if page.has_next else None)


def _one_by_one(question: Question, resource: Asked, pages: Pages, start: Any, found: list[Asked]) -> Asked:
    """Evaluates each user of a batch, if a plugin's function or a new row must be evaluated; a page may be short."""
    call = question.call
    view = call.access.narrow("user.view", User)
    if view is None:
        return pages.answer(found, None)
    page = paging.walk(call.services.database, _of_users(call, view), view.values, size=_AT_ONCE, position=start)
    for user in map(_read_id, page.rows):
        if question.permits(subject_of(call, {"type": USER, "id": user["id"]}), resource):
            found.append({"type": USER, "id": user["id"]})
    return pages.answer(found, page.last if page.has_next else None)


def _of_users(call: Call, narrowing: Narrowing) -> paging.Shape:
    return paging.Shape(User, (User.id, User.created_at), sort_order(Key(User.created_at)),
                        (User.tenant_id == call.tenant_id,), narrowing.where.allows, narrowing.where.denies)


def _read_id(row: tuple[Any, ...]) -> dict[str, Any]:
    return _read(row[:2])


def _services(question: Question, resource: Asked, pages: Pages, start: Any) -> Asked:
    """Returns a page of service tokens. Each is evaluated, because there are few."""
    call, found, last = question.call, list[Asked](), None if start is None else start[-1]
    while True:
        rows = Rows(ServiceToken, call.tenant_id).select()
        batch = list((rows if last is None else rows.where(ServiceToken.id > last))
                     .order_by(ServiceToken.id).limit(_AT_ONCE))
        for token in batch:
            if len(found) == pages.size:
                return pages.answer(found, (last,))
            last = token.id
            tokens = call.services.collections["tokens"]
            if call.access.allows(tokens.view, token.__data__) and question.permits(service(call, token), resource):
                found.append({"type": SERVICE, "id": token.id})
        if len(batch) < _AT_ONCE:
            return pages.answer(found, None)


def resources(call: Call, asked: Asked) -> Asked:
    """Returns a page of the objects of a type on which the subject is permitted, and that the caller may view."""
    question = Question(call, asked["resource"]["type"], asked["action"]["name"], asked.get("context", {}))
    subject, pages = subject_of(call, asked["subject"]), Pages(call, "resource", asked)
    start, collection = pages.cursor.position, question.collection
    if subject is None or not question.known or collection is None:
        return pages.answer([], None)
    # The query uses one method; `permits_on` then evaluates each row with all methods.
    access = question.access(subject, question.requests(about_row=True).methods[0])
    seen = call.access.narrow(collection.view, collection.model)
    viewed, given = (access.narrow(permission, collection.model, prefix=_SUBJECT)
                     for permission in (collection.view, question.permission))
    if seen is None or viewed is None or given is None:
        return pages.answer([], None)
    return _rows(question, collection, subject, pages, start, (seen, viewed, given))


def _rows(question: Question, collection: Collection, subject: Subject, pages: Pages, start: Any,
          narrowings: Any) -> Asked:
    """Returns a page of rows without those whose presence would reveal a hidden field, or that rank excludes."""
    call, model, columns = question.call, collection.model, tuple(collection.columns)
    read = reader(columns)
    seen, viewed, given = narrowings
    order = collection.listing.query.orders[collection.default_sort]
    conditions = [model.tenant_id == call.tenant_id, *collection.lasting,
                  *(one.where.expression() for one in (seen, viewed) if not one.where.is_everything)]
    shape = paging.Shape(model, columns, order, tuple(conditions), given.where.allows, given.where.denies)
    values = {_TENANT: call.tenant_id, "now": now(), **seen.values, **viewed.values, **given.values}
    found: list[Asked] = []
    position, has_next = start, True
    while has_next and len(found) < pages.size:
        page = paging.walk(call.services.database, shape, values, size=pages.size - len(found), position=position)
        for row in (model(**read(one[:len(columns)])) for one in page.rows):
            if question.permits_on(subject, row):
                found.append({"type": collection.resource, "id": row.id})
        position, has_next = page.last or position, page.has_next
    return pages.answer(found, position if has_next else None)


def actions(call: Call, asked: Asked) -> Asked:
    """Returns the actions that the subject is permitted on the resource."""
    pages, subject = Pages(call, "action", asked), subject_of(call, asked["subject"])
    resource = call.access.policy.vocabulary.resources.get(asked["resource"]["type"])
    verbs = sorted(name.partition(".")[2] for name in resource.permissions) if resource is not None else []
    read, context = Known(call), asked.get("context", {})
    return pages.answer([{"name": verb} for verb in verbs if Question(
        call, asked["resource"]["type"], verb, context, read).permits(subject, asked["resource"])], None)
