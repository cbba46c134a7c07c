"""`explain_refusals = self`: a 403 gives the reason, by values of the row and the caller that the caller may see."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from gatepost.http.request import reasons
from gatepost.http.request.environment import RequestEnvironment
from models.tables.product import Product
from policies import SHIPPED
from policies.loading.loader import from_files
from tests.apps import NO_ROW, log_in
from tests.http.described import Description, check_problem
from tests.rule_files import edit

BRANCHES = {
    "in_stock": "r.obj.stock > 0",
    "at_night": "r.env.hour > 23",
    "own_at_night": "r.obj.owner_id == r.sub.id && r.env.hour > 23",
    "press": "inGroup(r.sub, 'press')",
    "of_news": "r.obj.department == r.sub.department",
    "loud": "r.obj.article_status == 'draft'",
    "of_nobody": f"r.obj.owner_id == '{NO_ROW}'",
    "open": "(r.obj.status in['draft', 'in_review'])",
    "german": "r.obj.language == 'de'",
    "words": "r.obj.body == 'Words.'",
}
LINES = {
    "products.csv": """
p, user, product.delete, in_stock, allow
p, user, product.update, in_stock, allow
p, user, product.archive, press, allow
p, user, product.publish, at_night, allow
p, user, product.create, own_at_night, allow
p, support, product.update, always, deny
p, support, product.archive, in_stock, deny
p, user:{ann}, product.delete, always, deny
p, user:{ann}, product.publish, in_stock, deny
p, user:{bob}, product.import, always, allow
p, user:{bob}, product.manage, always, deny
""",
    "orders.csv": "p, user, order.ship, own_at_night, allow\n",
    "articles.csv": "p, user, article.archive, open, allow\n",
    "comments.csv": "p, user, comment.approve, loud, allow\np, user, comment.reject, of_nobody, allow\n",
    "pages.csv": "p, user, page.view, always, allow\np, user, page.update, of_news, allow\n"
                 "p, user, page.delete, words, allow\np, user, page.create, german, allow\n",
    "session.csv": "p, developer, profile.*, always, deny\n",
}


@pytest.fixture(scope="module")
def world(app, given, tmp_path_factory):
    """The app with the conditions of `BRANCHES` and with reasons, its rows and callers. `say` switches the reasons."""
    services, folder = app.extensions["gatepost"], tmp_path_factory.mktemp("rules")
    ann, bob = given.user(department="news"), given.user()
    for place in SHIPPED.glob("*.c*"):
        (folder / place.name).write_bytes(place.read_bytes())
    edit(folder, "".join(f"    p.when == '{name}' && {text} || \\\n" for name, text in BRANCHES.items()),
         {name: text.format(ann=ann.id, bob=bob.id) for name, text in LINES.items()})
    kept, settings = services.policy.current, services.settings
    services.policy.current = from_files({place.name: place.read_bytes() for place in folder.iterdir()},
                                         kept.vocabulary)

    def say(what: str) -> None:
        services.settings = replace(settings, explain_refusals=what)

    say("self")
    callers = {name: log_in(app, who) for name, who in {
        "ann": ann, "bob": bob, "sue": given.user("support"), "dev": given.user("developer")}.items()}
    callers |= {"reader": log_in(app, ann, scope="read:articles,read:profile"),
                "writer": log_in(app, bob, scope="write:articles")}
    rows = {
        "published": given.article(owner_id=ann.id).id, "bobs": given.article(owner_id=bob.id).id,
        "hidden": given.article("draft", owner_id=bob.id).id,
        "sold_out": given.product(stock=0).id, "stocked": given.product(stock=3).id,
        "comment": given.comment(owner_id=bob.id).id,
        "sports": given.page(department="sports", owner_id=bob.id).id,
        "long": given.page(body="much " * 200).id, "absent": NO_ROW,
    }
    yield SimpleNamespace(callers=callers, rows=rows, say=say, app=app,
                          names={**rows, "ann_id": ann.id, "bob_id": bob.id})
    services.policy.current, services.settings = kept, settings


@dataclass(frozen=True)
class Refusal:
    """A row of a table: caller, request, and the sentence of the 403; None for no sentence."""

    name: str
    who: str
    request: str
    reason: str | None
    german: str | None = None

    def ask(self, world, **headers):
        method, path = self.request.format(**world.names).split()
        body = {"POST": {}, "PATCH": {}}.get(method)
        if path == "/api/pages":
            body = {"slug": "s", "title": "T", "body": "B", "language": "en"}
        if path.endswith("/import"):
            headers["Content-Type"] = "application/x-ndjson"
        more = {} if body is None else {"json": body}
        return world.callers[self.who].call(method, path, headers={k.replace("_", "-"): v for k, v in headers.items()},
                                            **more)


WITH_REASON = (
    Refusal("own draft", "ann", "PATCH /api/articles/{published}",
            "needs own_draft: status is published, must be draft",
            "braucht own_draft: status ist published, muss aber draft sein"),
    Refusal("of somebody else", "ann", "DELETE /api/articles/{bobs}",
            "needs own_draft: owner_id is {bob_id}, must be the caller's id, {ann_id}; "
            "status is published, must be draft",
            "braucht own_draft: owner_id ist {bob_id}, muss aber die Id des Aufrufers, {ann_id} sein; "
            "status ist published, muss aber draft sein"),
    Refusal("one of several states", "ann", "POST /api/articles/{published}/archive",
            "needs open: status is published, must be draft or in_review",
            "braucht open: status ist published, muss aber draft oder in_review sein"),
    Refusal("no line", "ann", "POST /api/articles/{published}/approve", "no rule lets a user do this",
            "keine Regel erlaubt das der Rolle user"),
    Refusal("no line but one about somebody else", "ann", "POST /api/products/import", "no rule lets a user do this"),
    Refusal("a scope is missing", "reader", "PATCH /api/articles/{published}",
            "the token needs the scope write:articles",
            "das Token braucht den Scope write:articles"),
    Refusal("no scope covers it", "reader", "GET /api/audit", "no scope of a token covers this"),
    Refusal("the hour", "ann", "POST /api/products/{sold_out}/publish",
            "needs at_night: the hour is {hour}, must be more than 23",
            "braucht at_night: die Stunde ist {hour}, muss aber größer sein als 23"),
    Refusal("the hour, of an object that is not there yet", "ann", "POST /api/products",
            "needs own_at_night: the hour is {hour}, must be more than 23"),
    Refusal("a new object, as it was sent", "ann", "POST /api/pages", "needs german: language is en, must be de"),
    Refusal("a group", "ann", "POST /api/products/{stocked}/archive",
            "needs press: the caller is not in the group press",
            "braucht press: der Aufrufer ist nicht in der Gruppe press"),
    Refusal("a column", "bob", "DELETE /api/products/{sold_out}", "needs in_stock: stock is 0, must be more than 0",
            "braucht in_stock: stock ist 0, muss aber größer sein als 0"),
    Refusal("a line that denies", "sue", "PATCH /api/products/{stocked}", "a rule denies this",
            "eine Regel verbietet das"),
    Refusal("a line that denies some", "sue", "POST /api/products/{stocked}/archive",
            "a rule denies this by in_stock: stock is 3"),
    Refusal("a line about the caller", "ann", "DELETE /api/products/{stocked}", "a rule about the caller denies this",
            "eine Regel über den Aufrufer verbietet das"),
)
WITHOUT_REASON = (
    Refusal("a column that no answer has", "ann", "POST /api/comments/{comment}/approve", None),
    Refusal("a field that the caller may not see", "ann", "PATCH /api/pages/{sports}", None),
    Refusal("the id of somebody else in a condition", "ann", "POST /api/comments/{comment}/reject", None),
    Refusal("a long text of the row", "ann", "DELETE /api/pages/{long}", None),
    Refusal("a caller who may not read their profile", "dev", "POST /api/products/{sold_out}/publish", None),
    Refusal("a token that may not read the profile", "writer", "PATCH /api/articles/{bobs}", None),
)


@pytest.fixture
def at_ten(monkeypatch):
    """Sets the hour of requests to ten."""
    monkeypatch.setattr(RequestEnvironment, "hour", 10)
    return 10


@pytest.mark.parametrize("refusal", WITH_REASON, ids=lambda refusal: refusal.name)
def test_a_refusal_says_why(world, refusal, at_ten):
    problem = check_problem(refusal.ask(world), 403)
    assert problem["meta"] == {"reason": refusal.reason.format(hour=at_ten, **world.names)}
    if refusal.german is not None:
        answer = refusal.ask(world, Accept_Language="de")
        assert answer.get_json()["meta"]["reason"] == refusal.german.format(hour=at_ten, **world.names)


@pytest.mark.parametrize("refusal", WITHOUT_REASON, ids=lambda refusal: refusal.name)
def test_a_refusal_does_not_say_what_the_caller_does_not_know(world, refusal):
    assert "meta" not in check_problem(refusal.ask(world), 403)


@pytest.mark.parametrize("refusal", WITH_REASON, ids=lambda refusal: refusal.name)
def test_unless_it_is_switched_on_a_refusal_says_nothing(world, refusal, monkeypatch):
    world.say("off")
    monkeypatch.setattr(reasons, "_reason", None)  # it is not even called
    try:
        assert "meta" not in check_problem(refusal.ask(world), 403)
    finally:
        world.say("self")


def test_a_404_is_the_same_byte_for_byte_whether_refusals_are_explained_or_not(world):
    ann = world.callers["ann"]
    answers = set()
    for what in ("self", "off"):
        world.say(what)
        for id in (world.rows["hidden"], NO_ROW):
            answer = ann.patch(f"/api/articles/{id}", {"title": "T"}, headers={"X-Request-ID": "one"})
            assert answer.status_code == 404
            answers.add(answer.data.replace(id.encode(), b""))
    world.say("self")
    assert len(answers) == 1


def test_where_nobody_may_do_it_now_a_hidden_row_is_refused_like_an_absent_one(world, given, at_ten):
    hidden = given.order(owner_id=world.names["bob_id"]).id
    answers = {world.callers["ann"].post(f"/api/orders/{id}/ship", {}, headers={"X-Request-ID": "one"}).data.replace(
        id.encode(), b"") for id in (hidden, NO_ROW)}
    assert len(answers) == 1 and b"needs own_at_night: the hour is 10" in answers.pop()


def test_what_is_shared_with_the_caller_makes_no_difference(world, given):
    article, headers = given.article(), {"X-Request-ID": "one"}
    before = world.callers["ann"].delete(f"/api/articles/{article.id}", headers=headers).data
    given.share("article", article, f"user:{world.names['ann_id']}", "delete")
    assert world.callers["ann"].delete(f"/api/articles/{article.id}", headers=headers).data == before
    assert b"needs own_draft" in before


def test_a_401_is_not_explained(world):
    answer = world.app.test_client().post("/api/articles", json={})
    assert "meta" not in check_problem(answer, 401)


def test_a_refusal_by_a_rule_in_code_is_not_explained(world, given):
    owner = log_in(world.app, given.user("owner"))
    answer = owner.patch(f"/api/users/{given.user('admin').id}", {"name": "N"})
    assert "meta" not in check_problem(answer, 403)


def test_a_change_that_moves_a_row_out_of_reach_is_refused_without_the_row_as_it_would_be(world, given):
    row = given.product(stock=2)
    answer = world.callers["bob"].patch(f"/api/products/{row.id}", {"stock": 0})
    assert "meta" not in check_problem(answer, 403)
    assert given.found(Product, row.id).stock == 2


def test_what_fails_leaves_the_plain_refusal_and_a_line_in_the_log(world, monkeypatch, caplog):
    def failing(*_):
        raise RuntimeError("no")

    monkeypatch.setattr(reasons, "own_reason", failing)
    with caplog.at_level(logging.WARNING):
        assert "meta" not in check_problem(WITH_REASON[0].ask(world), 403)
    assert [record.getMessage() for record in caplog.records] == [
        "no reason can be given for the refusal of article.update"]


def test_the_description_of_the_api_has_the_reason(world):
    described, answer = Description.of(world.app), WITH_REASON[0].ask(world)
    described.check(described.operation("PATCH", "/api/articles/{id}"), answer)
    schema = described.document["components"]["schemas"]
    assert "reason" in schema["Reason"]["properties"]
