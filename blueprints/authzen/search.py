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
from policies.questions.holders import Undetermined

from .questions import GUEST, ROLE, SERVICE, USER, Cache, Question, Subject, login_of, service, subject_of
from .schemas import JsonObject

_SUBJECT, _TENANT = "subject ", "tenant"  # prefix of the placeholders of the subject's rights; that of the tenant
_AT_ONCE = 100  # tokens or users read by one statement
_read = reader((User.id, User.created_at))


class Pages:
    """The pages of one search. A token is valid only for its question."""

    def __init__(self, call: Call, name: str, question: JsonObject) -> None:
        self._call, self._name, self._page = call, f"authzen {name}", question["page"]
        settings = call.services.settings
        kind = "service" if call.principal.kind == "service" else call.principal.role
        most = settings.page_sizes.get(kind, settings.max_page_size)
        self.size = min(self._page.get("limit", settings.page_size), most)
        members = {key: value for key, value in question.items() if key != "page"}
        self._question = fingerprint(filters={"asked": members}, sort="", q=None, tenant=call.tenant_id)

    @cached_property
    def cursor(self) -> Cursor:
        """The start of this page. Raises `Problem` for a token of another question."""
        cursors, token = self._call.services.cursors, self._page.get("token")
        try:
            return cursors.read(token, self._name, self._question) if token else cursors.begin(
                self._name, self._question)
        except CursorError as error:
            raise Problem.of([error.fault(pointer="/page/token")], "invalid_body") from None

    def answer(self, results: list[JsonObject], position: tuple[Any, ...] | None) -> JsonObject:
        """`position` is that of the last result; None: there is no more."""
        token = "" if position is None else self.cursor.at(position)
        return {"page": {"next_token": token, "count": len(results)}, "results": results}


def subjects(call: Call, request: JsonObject) -> JsonObject:
    """Lists the subjects of the type who are permitted."""
    question = Question(call, request["resource"]["type"], request["action"]["name"], request.get("context", {}))
    pages, kind = Pages(call, "subject", request), request["subject"]["type"]
    start, row, id = pages.cursor.position, None, request["resource"]["id"] if question.verb != "create" else ""
    if not question.is_known or (id and (row := question.row(id)) is None):
        return pages.answer([], None)
    match kind:
        case "user":
            return _users(question, request, row, pages, start)
        case "role":
            names = [name for name in call.access.policy.roles.of_users
                     if question.permits(_described(call, request, name), request["resource"])]
            return pages.answer([{"type": ROLE, "id": name} for name in names], None)
        case "service":
            return _services(question, request["resource"], pages, start)
    return pages.answer([], None)


def _described(call: Call, request: JsonObject, id: str) -> Subject | None:
    """Returns the subject with this id that a search asks about, with the properties that it gives all subjects."""
    return subject_of(call, {**request["subject"], "id": id})


def _users(question: Question, request: JsonObject, row: Any, pages: Pages, start: Any) -> JsonObject:
    call, results, resource = question.call, list[JsonObject](), request["resource"]
    holders = question.holders(row, login_of(call, request["subject"]))
    if start is None and question.permits(subject_of(call, {"type": USER, "id": GUEST}), resource):
        results.append({"type": USER, "id": GUEST})
    if row is not None and question.hides(row):
        return pages.answer(results, None)
    try:
        narrowing = holders.narrowing
    except Undetermined:
        return _evaluate_each(question, request, pages, start, results)
    if narrowing is None:
        return pages.answer(results, None)
    if question.drafts(resource):
        return _evaluate_each(question, request, pages, start, results)
    page = paging.walk(call.services.database, _of_users(call, narrowing), narrowing.values, size=pages.size,
                       position=start)
    results += [{"type": USER, "id": user["id"]} for user in map(_read_id, page.rows)]
    return pages.answer(results, page.last if page.has_next else None)


def _evaluate_each(question: Question, request: JsonObject, pages: Pages, start: Any,
                   results: list[JsonObject]) -> JsonObject:
    """Evaluates each user of a batch, if a plugin's function or a new row must be evaluated; a page may be short."""
    call = question.call
    view = call.access.narrow("user.view", User)
    if view is None:
        return pages.answer(results, None)
    page = paging.walk(call.services.database, _of_users(call, view), view.values, size=_AT_ONCE, position=start)
    for user in map(_read_id, page.rows):
        if question.permits(_described(call, request, user["id"]), request["resource"]):
            results.append({"type": USER, "id": user["id"]})
    return pages.answer(results, page.last if page.has_next else None)


def _of_users(call: Call, narrowing: Narrowing) -> paging.Shape:
    return paging.Shape(User, (User.id, User.created_at), sort_order(Key(User.created_at)),
                        (User.tenant_id == call.tenant_id,), narrowing.where.allows, narrowing.where.denies)


def _read_id(row: tuple[Any, ...]) -> dict[str, Any]:
    return _read(row[:2])


def _services(question: Question, resource: JsonObject, pages: Pages, start: Any) -> JsonObject:
    """Returns a page of service tokens. Each is evaluated, because there are few."""
    call, results, last = question.call, list[JsonObject](), None if start is None else start[-1]
    while True:
        rows = Rows(ServiceToken, call.tenant_id).select()
        batch = list((rows if last is None else rows.where(ServiceToken.id > last))
                     .order_by(ServiceToken.id).limit(_AT_ONCE))
        for token in batch:
            if len(results) == pages.size:
                return pages.answer(results, (last,))
            last = token.id
            tokens = call.services.collections["tokens"]
            if call.access.allows(tokens.view, token.__data__) and question.permits(service(call, token), resource):
                results.append({"type": SERVICE, "id": token.id})
        if len(batch) < _AT_ONCE:
            return pages.answer(results, None)


def resources(call: Call, request: JsonObject) -> JsonObject:
    """Returns a page of the objects of a type on which the subject is permitted, and that the caller may view."""
    question = Question(call, request["resource"]["type"], request["action"]["name"], request.get("context", {}))
    subject, pages = subject_of(call, request["subject"]), Pages(call, "resource", request)
    start, collection = pages.cursor.position, question.collection
    if subject is None or not question.is_known or collection is None:
        return pages.answer([], None)
    # The query uses one method; `permits_on` then evaluates each row with all methods.
    access = question.access(subject, question.requests(about_row=True).methods[0])
    of_caller = call.access.narrow(collection.view, collection.model)
    of_subject, permitted = (access.narrow(permission, collection.model, prefix=_SUBJECT)
                             for permission in (collection.view, question.permission))
    if of_caller is None or of_subject is None or permitted is None:
        return pages.answer([], None)
    return _rows(question, collection, subject, pages, start, (of_caller, of_subject, permitted))


def _rows(question: Question, collection: Collection, subject: Subject, pages: Pages, start: Any,
          narrowings: Any) -> JsonObject:
    """Returns a page of rows without those whose presence would reveal a hidden field, or that rank excludes."""
    call, model, columns = question.call, collection.model, tuple(collection.columns)
    read = reader(columns)
    of_caller, of_subject, permitted = narrowings
    order = collection.listing.query.orders[collection.default_sort]
    conditions = [model.tenant_id == call.tenant_id, *collection.lasting,
                  *(item.where.expression() for item in (of_caller, of_subject) if not item.where.is_everything)]
    shape = paging.Shape(model, columns, order, tuple(conditions), permitted.where.allows, permitted.where.denies)
    values = {_TENANT: call.tenant_id, "now": now(), **of_caller.values, **of_subject.values, **permitted.values}
    results: list[JsonObject] = []
    position, has_next = start, True
    while has_next and len(results) < pages.size:
        page = paging.walk(call.services.database, shape, values, size=pages.size - len(results), position=position)
        for row in (model(**read(item[:len(columns)])) for item in page.rows):
            if question.permits_on(subject, row):
                results.append({"type": collection.resource, "id": row.id})
        position, has_next = page.last or position, page.has_next
    return pages.answer(results, position if has_next else None)


def actions(call: Call, request: JsonObject) -> JsonObject:
    """Returns the actions that the subject is permitted on the resource."""
    pages, subject = Pages(call, "action", request), subject_of(call, request["subject"])
    resource = call.access.policy.vocabulary.resources.get(request["resource"]["type"])
    verbs = sorted(name.partition(".")[2] for name in resource.permissions) if resource is not None else []
    cache, context = Cache(call), request.get("context", {})
    return pages.answer([{"name": verb} for verb in verbs if Question(
        call, request["resource"]["type"], verb, context, cache).permits(subject, request["resource"])], None)
