"""*As seen by*: rows that both users may view, and never a permission of the chosen user."""

from __future__ import annotations

import pytest

from models.base import Rows
from models.tables.article import Article
from models.tables.audit import Audit
from tests.http.console.pages import visit

ROOT = "/console/data"


@pytest.fixture(scope="module")
def admin(app):
    return visit(app, "admin")


@pytest.fixture(scope="module")
def ann(given):
    return given.user(name="Ann Archer", email="ann@seen.example")


def lines(visitor, path):
    """The texts of the lines of a table."""
    answer = visitor.get(path)
    assert answer.status_code == 200, answer.text
    return [part for part in answer.text.split("<tr>")[2:]]


def test_rows_that_they_do_not_see_are_marked(admin, ann, given):
    other = given.user()
    rows = ("Of hers", "draft", ann), ("Of others", "draft", other), ("Open", "published", other)
    for title, status, owner in rows:
        given.article(status, title=f"Seenby {title}", owner_id=owner.id)
    found = {("not visible" in line, title) for line in lines(admin, f"{ROOT}/articles?q=seenby&as={ann.id}")
             for title in ("Of hers", "Of others", "Open") if title in line}
    assert found == {(False, "Of hers"), (True, "Of others"), (False, "Open")}


def test_rows_that_only_they_see_are_not_shown(app, ann, given):
    """A developer has the permission to ask, but sees no orders."""
    order = given.order(owner_id=ann.id, note="For Ann alone")
    developer = visit(app, "developer")
    assert order.id not in developer.get(f"{ROOT}/orders?as={ann.id}").text
    assert developer.get(f"{ROOT}/orders/{order.id}?as={ann.id}").status_code == 404


def test_an_object_tells_what_they_may_do_and_offers_nothing(admin, ann, given):
    article = given.article("draft", title="Hers", owner_id=ann.id, department="news")
    found = admin.page(f"{ROOT}/articles/{article.id}?as=ann@seen.example")
    assert "Ann Archer" in found.text and "Allowed actions:" in found.text and "submit" in found.text
    assert [form.action for form in found.forms if form.method == "post"] == ["/console/logout"]
    assert not [link for link in found.links if link.endswith(("/update", "/delete", "/share"))]
    public = given.article("published", department="secret-service")
    assert "secret-service" not in admin.page(f"{ROOT}/articles/{public.id}?as={ann.id}").text
    assert "secret-service" in admin.page(f"{ROOT}/articles/{public.id}").text


def test_a_form_is_judged_by_who_sends_it_whoever_is_looked_through(app, ann, given):
    article, developer = given.article("draft", owner_id=ann.id), visit(app, "developer")
    answer = developer.post(f"{ROOT}/articles/{article.id}/submit?as={ann.id}")
    assert answer.status_code in (400, 403)
    assert given.found(Article, article.id).status == "draft"


@pytest.mark.parametrize("role", ["user", "editor", "manager"])
def test_who_may_not_see_the_policy_is_told_so_and_not_offered_it(role, app, ann, given):
    visitor = visit(app, role)
    article = given.article("published", owner_id=ann.id)
    assert "View as" not in visitor.page(f"{ROOT}/articles").text
    for path in (f"{ROOT}/articles?as={ann.id}", f"{ROOT}/articles/{article.id}?as={ann.id}"):
        assert "does not allow policy.view" in visitor.page(path).text


def test_somebody_who_is_not_there_is_a_sentence(admin):
    assert "There is no such" in admin.page(f"{ROOT}/articles?as=nobody@example.org").text


def test_looks_through_somebody_are_recorded(app, given):
    visitor, person = visit(app, "admin"), given.user()
    given.article()
    for _ in range(3):
        visitor.page(f"{ROOT}/articles?as={person.id}")
    app.extensions["gatepost"].audit_writer.flush()
    with given.database.connected():
        rows = list(Rows(Audit, given.tenant_id).select().where(Audit.resource_id == person.id))
    assert [(row.principal, row.resource, row.action) for row in rows] == [
        (f"user:{visitor.user.id}", "policy", "visible")]
