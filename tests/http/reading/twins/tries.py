"""Attempts to learn hidden fields: each way in and out, derived from the declarations of the collections."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import quote, urlencode

from werkzeug.test import TestResponse

from gatepost.collections.collection import Collection
from gatepost.http.schemas import file_formats
from tests.apps import Caller
from tests.http.reading.twins.instances import OWNED, Secret, Twin

Play = Callable[[Caller], list[TestResponse]]
NDJSON, CSV = file_formats.NDJSON, file_formats.CSV
NAMING = " by name"
_PAGES = ("", "&page=1&page_size=2", "&limit=1", "&limit=2&snapshot=true", "&limit=50")
# A field that every caller may change who may change the row, and two values for it.
VISIBLE = {"users": ("name", ("Eve", "Eva")), "articles": ("title", ("Words", "More words")),
           "orders": ("note", ("Soon", "Now")), "products": ("name", ("A lamp", "Two lamps")),
           "pages": ("title", ("Terms", "Help")), "comments": ("body", ("Well said.", "Said well.")),
           "categories": ("name", ("Lights", "Lamps")), "letters": ("text", ("Dear Eve", "Dear Eva"))}
# A caller who changes a hidden state learns if the change was made: docs/decisions/0021 lists other known leaks.
TOLD_BY_EFFECT = {"active": ("enable", "disable")}


@dataclass(frozen=True)
class Try:
    """One or more requests. Later requests use the answers to earlier ones.

    way   the way in or out, so that some of each are tried
    """

    name: str
    play: Play
    way: str = ""

    def __str__(self) -> str:
        return self.name


def tries(twin: Twin, secret: Secret) -> list[Try]:
    """Returns every try that could reveal this secret, the same for both instances."""
    collections: Mapping[str, Collection] = twin.app.extensions["gatepost"].registry.collections
    found = list(_elsewhere(twin))
    found += _explained(twin, secret)
    for name, collection in collections.items():
        made = _lists(collection, secret, twin)
        if name in twin.rows:
            made = chain(made, _items(collection, twin.rows[name].id, secret),
                         _writes(collection, twin.rows[name].id, secret))
        # Requests to the row's own collection, and requests that name the field, are ways of their own.
        place = "own" if name == secret.path else "other"
        found += [replace(one, way=f"{place} {one.way}{_naming(one, secret)}") for one in made]
    return found


def _naming(one: Try, secret: Secret) -> str:
    return NAMING if secret.column in one.name and f"/{secret.path}" in one.name else ""


def _request(way: str, method: str, path: str, *body: Any, headers: Mapping[str, str] | None = None,
             **more: Any) -> Try:
    name = " ".join(map(str, (method, path, *body, headers or "", more.get("data", ""))))
    return Try(name, lambda caller: [caller.call(method, path, *body, headers=headers, **more)], way)


# Reading

def _lists(collection: Collection, secret: Secret, twin: Twin) -> Iterator[Try]:
    many, queries = f"/api/{collection.name}", list(_queries(collection, secret, twin))
    for query in queries:
        for page in _PAGES:
            yield Try(f"GET {many}?{query}{page}", partial(_walk, path=f"{many}?{query}{page}"),
                      "filter" if page else "list")
        for kind in (NDJSON, CSV):
            yield _request("export", "GET", f"{many}/export?{query}", headers={"Accept": kind})


def _queries(collection: Collection, secret: Secret, twin: Twin) -> Iterator[str]:
    """Yields every filter with matching and other values, every order, every expansion, words, shares, fields."""
    yield ""
    for sort in collection.listing.query.orders:
        yield f"sort={sort}"
    row = dict(twin.rows[collection.name].__data__) if collection.name in twin.rows else {}
    for name, operators in collection.filters.items():
        values = [row.get(name, secret.id), *(secret.values if name == secret.column else ("sales",))]
        for operator in operators:
            written = name if operator == "eq" else f"{name}__{operator}"
            for value in ("true", "false") if operator == "isnull" else dict.fromkeys(map(_text, values)):
                yield urlencode({written: value})
                yield urlencode({written: value, "sort": collection.default_sort})
    for name in (*collection.expand, *("id," + one for one in collection.body_schema.dump_fields)):
        yield f"expand={name}" if name in collection.expand else f"fields={name}"
    if collection.search:
        yield from (f"q={quote(str(value))}" for value in (*secret.values, "words") if isinstance(value, str))
    if collection.shares:
        yield from (f"shared={which}" for which in ("include", "exclude", "only"))
    yield "fields=id,allowed_actions"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(value) if isinstance(value, list) else str(value)


def _walk(caller: Caller, path: str) -> list[TestResponse]:
    """Up to three pages."""
    found = [caller.get(path)]
    while len(found) < 3 and found[-1].status_code == 200 and (cursor := found[-1].get_json().get("next_cursor")):
        found.append(caller.get(f"{path}&cursor={cursor}"))
    return found


def _items(collection: Collection, id: str, secret: Secret) -> Iterator[Try]:
    one = f"/api/{collection.name}/{id}"
    shown = [f"?fields={name}" for name in (*collection.representation.names, *collection.computed)]
    shown += [f"?expand={name}" for name in collection.expand]
    for query in ("", *shown):
        for method in ("GET", "HEAD"):
            yield _request("item", method, one + query)
            for header in ("If-None-Match", "If-Match"):
                yield Try(f"{method} {one}{query} {header}", partial(
                    _tagged, read=one + query, method=method, path=one + query, header=header), "tag")
    for header in ("If-None-Match", "If-Match"):
        for version in (1, *([value for value in secret.values if isinstance(value, int)]), 2):
            yield _request("tag", "GET", one, headers={header: f'"{version}"'})
    if collection.shares:
        yield _request("share", "GET", f"{one}/shares")


def _tagged(caller: Caller, read: str, method: str, path: str, header: str, *body: Any) -> list[TestResponse]:
    """A request with the ETag that was read before."""
    first = caller.get(read)
    return [first, caller.call(method, path, *body, headers={header: first.headers.get("ETag", '"0"')})]


# Writing

def _writes(collection: Collection, id: str, secret: Secret) -> Iterator[Try]:
    many, one = f"/api/{collection.name}", f"/api/{collection.name}/{id}"
    field, changes = VISIBLE[collection.name]
    bodies: list[dict[str, Any]] = [{}, *({field: value} for value in changes)]
    if collection.name == secret.path:
        bodies += [{secret.column: value} for value in (*secret.values, None)]
        bodies += [{secret.column: value, field: changes[1]} for value in secret.values]
    bodies.append({"owner_id": secret.id})
    for index, body in enumerate(bodies):
        yield _request("change", "PATCH", one, body)
        yield Try(f"PUT {one} {body}", partial(_put_back, path=one, changes=body), "replace")
        yield Try(f"PATCH {one} {body} twice", partial(_twice, path=one, body=body, key=f"{secret.column}{index}"),
                  "repeat")
        yield Try(f"PATCH {one} {body} and GET", partial(_then_read, path=one, body=body), "change")
        if collection.imports:
            line = json.dumps({"id": id, **body}).encode()
            for query in ("", "?on_error=skip"):
                yield Try(f"import {line!r} {query} and GET", partial(
                    _imported, many=many + "/import" + query, one=one, line=line, kind=NDJSON), "import")
    if collection.imports:
        for cell in ("", *(value for value in secret.values if isinstance(value, str))):
            sheet = f"id,{field},{secret.column}\n{id},{changes[0]},{cell}\n".encode()
            yield Try(f"import {sheet!r} and GET", partial(
                _imported, many=many + "/import", one=one, line=sheet, kind=CSV), "import")
        yield Try(f"export and import {many}", partial(_brought_back, many=many), "import")
    for method, rest, sent in (("PATCH", "", [{field: changes[1]}]), ("PUT", "", [{field: changes[1]}]),
                               ("DELETE", "", [])):
        # A visible version number would match, and the row would be deleted.
        known = [value for value in secret.values if value in (3, 8)] if collection.name == secret.path else []
        for version in (*known, 99):
            yield _request("tag", method, one + rest, *sent, headers={"If-Match": f'"{version}"'})
    yield Try(f"PATCH {one} If-Match", partial(_tagged_change, path=one, body={field: changes[1]}), "tag")
    for action in collection.actions:
        if action.name not in TOLD_BY_EFFECT.get(secret.column, ()):
            yield _request("action", "POST", f"{one}/{action.name}")
    if collection.shares:
        for grantee in (f"user:{secret.id}", "group:atlas", "role:editor"):
            yield _request("share", "PUT", f"{one}/shares", {"grantee": grantee, "right": "read"})
            yield _request("share", "DELETE", f"{one}/shares?grantee={grantee}")


def _tagged_change(caller: Caller, path: str, body: dict[str, Any]) -> list[TestResponse]:
    return _tagged(caller, path, "PATCH", path, "If-Match", body)


def _put_back(caller: Caller, path: str, changes: dict[str, Any]) -> list[TestResponse]:
    read = caller.get(path)
    return [read] if read.status_code != 200 else [read, caller.put(path, read.get_json() | changes)]


def _twice(caller: Caller, path: str, body: dict[str, Any], key: str) -> list[TestResponse]:
    headers = {"Idempotency-Key": key}
    return [caller.patch(path, body, headers=headers) for _ in range(2)] + [caller.patch(path, {}, headers=headers)]


def _then_read(caller: Caller, path: str, body: dict[str, Any]) -> list[TestResponse]:
    return [caller.patch(path, body), caller.get(path)]


def _imported(caller: Caller, many: str, one: str, line: bytes, kind: str) -> list[TestResponse]:
    return [caller.get(one), caller.post(many, data=line, content_type=kind), caller.get(one)]


def _brought_back(caller: Caller, many: str) -> list[TestResponse]:
    found = []
    for kind in (NDJSON, CSV):
        found.append(caller.get(f"{many}/export", headers={"Accept": kind}))
        found.append(caller.post(f"{many}/import", data=found[-1].get_data(), content_type=kind))
    return found


# Everything else

def _elsewhere(twin: Twin) -> Iterator[Try]:
    for path in ("/", "/api/health", "/api/ping", "/api/admin/stats", "/api/admin/policy",
                 "/api/admin/policy/matrix", "/api/admin/policy/matrix?person=" + twin.rows["eve"].id, "/api/profile",
                 "/api/sessions", "/api/tokens", "/api/audit?sort=time", "/api/openapi.json", "/api/contact"):
        yield _request("elsewhere", "GET", path)


def _explained(twin: Twin, secret: Secret) -> Iterator[Try]:
    """Yields questions about each permission of the owner, for any row, their own rows and rows of another user."""
    persons = ["member", twin.rows["eve"].id, *(value for value in secret.values if secret.column == "email")]
    vocabulary = twin.app.extensions["gatepost"].policy.current.vocabulary
    for who in persons:
        for permission in vocabulary.by_permission:
            ask = f"/api/admin/policy/explain?as={quote(who)}&permission={permission}"
            resource = permission.partition(".")[0]
            yield _request("explain", "GET", ask)
            yield from (_request("explain", "GET", f"{ask}&id={row.id}") for name, row in twin.rows.items()
                        if name == f"another {resource}" or OWNED.get(name, name.removesuffix("s")) == resource)
