"""A rule that the lint calls useless permits nothing in the service, and a rule close to it permits something."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gatepost.testing.serving import ABSENT
from tests.apps import Caller, Given
from tests.databases import on_sqlite  # noqa: F401 - the same on each database

MISSING_VIEW = "p, user, {resource}.view, always, allow\n"


@pytest.fixture(scope="module")
def vocabulary(app):
    return app.extensions["gatepost"].policy.current.vocabulary


# Functions that make a row without an owner, for each collection with endpoints of single rows.
ROWS = {"article": Given.article, "product": Given.product, "order": Given.order, "comment": Given.comment,
        "category": Given.category, "page": Given.page, "user": Given.user, "contact": Given.contact_message,
        "job": Given.job}


def requests(app, permissions: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yields method and path of each endpoint that needs one of these permissions; for a change, only PATCH."""
    found = app.extensions["gatepost"].registry.by_permission
    for permission in sorted(permissions):
        yield from ((one.method, one.path) for one in found.get(permission, ()) if one.name != "replace")


def answers(app, caller: Caller, vocabulary, given: Given) -> dict[str, int]:
    """Returns the status of the answer to each request of `on_viewed`."""
    found, person = {}, f"user:{given.user().id}"
    for resource, make in ROWS.items():
        for method, path in requests(app, vocabulary.resources[resource].on_viewed):
            row, query = make(given), ""
            place = path.replace("<id>", row.id)
            if method == "DELETE" and path.endswith("/shares"):
                given.share(resource, row, person)
                query = f"?grantee={person}"
            body = {"grantee": person, "right": "read"} if method == "PUT" else {} if method == "PATCH" else ABSENT
            found[f"{method} {path}"] = caller.call(method, place + query, body).status_code
    return found


@pytest.fixture(scope="module")
def rules(vocabulary) -> dict[str, str]:
    """Returns rules for each collection: they give users all permissions that the lint calls useless without `view`."""
    return {f"{resource.collection}.csv": "".join(f"p, user, {one}, always, allow\n"
                                                  for one in sorted(resource.on_viewed))
            for resource in vocabulary.resources.values() if resource.on_viewed and resource.columns}


def test_without_its_view_a_permission_opens_no_request_and_with_it_it_does(
    vocabulary, rules, under, given, as_user
) -> None:
    caller, of = as_user("user"), {one.collection: name for name, one in vocabulary.resources.items()}
    hidden = under("", rules, only=True)
    caller.client = hidden.test_client()
    refused = answers(hidden, caller, vocabulary, given)
    assert len(refused) > 60 and {one: code for one, code in refused.items() if code not in (403, 404)} == {}
    seen = under("", {file: lines + MISSING_VIEW.format(resource=of[file.removesuffix(".csv")])
                      for file, lines in rules.items()}, only=True)
    caller.client = seen.test_client()
    served = answers(seen, caller, vocabulary, given)
    # Ranks also decide who may change or delete a user.
    assert {one for one, code in served.items() if code in (403, 404)} <= {
        one for one in served if one.endswith(("/disable", "/enable", "/password-link", "/password-link/mail"))
        or one == "DELETE /api/users/<id>"}


def test_a_method_that_no_request_for_a_permission_has_opens_none(vocabulary, under, given, as_user) -> None:
    """Tries each method: only those in the vocabulary change a product."""
    caller, opened = as_user("user"), set()
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
        app = under(f"    p.when == 'by_it' && r.env.method == '{method}' || \\\n", {"products.csv": (
            "p, user, product.view, always, allow\np, user, product.import, always, allow\n"
            "p, user, product.update, by_it, allow\n")}, only=True)
        caller.client = app.test_client()
        product = given.product("draft")
        body = {"name": "Another", "sku": product.sku, "price": 1, "currency": "EUR"}
        path, line = f"/api/products/{product.id}", f'{{"sku": "{product.sku}", "name": "A fourth"}}\n'
        for answer in (caller.put(path, body), caller.patch(path, {"name": "A third"}),
                       caller.post("/api/products/import?key=sku", data=line, content_type="application/x-ndjson")):
            if answer.status_code == 200:
                opened.add(method)
    assert opened == vocabulary.resources["product"].methods["product.update"]
