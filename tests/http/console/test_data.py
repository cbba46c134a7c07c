"""*Data*: the pages show a user what the API answers them, and offer what it allows them."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from gatepost.testing import log_in
from models.base import Rows
from models.tables.audit import Audit
from models.tables.share import Share
from tests.apps import NO_ROW
from tests.http.console.pages import Seen, visit

ROLES = ("user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")
ROOT = "/console/data"
HOSTILE = '"><script>alert(1)</script>{{ 7*7 }}\N{RIGHT-TO-LEFT OVERRIDE}'
LONG = "Long " * 39 + "title"

each_role = pytest.mark.parametrize("role", [
    role if role in ("user", "editor", "admin") else pytest.param(role, marks=pytest.mark.slow) for role in ROLES])


@pytest.fixture(scope="module")
def world(app, given):
    """Rows of every collection, in several states, of two users; the users by name."""
    ann, bob = given.user(name="Ann Archer", department="news"), given.user("editor", name="Bo Berg")
    for owner in (ann, bob):
        for status in ("draft", "in_review", "published"):
            given.article(status, owner_id=owner.id)
        given.comment("pending", owner_id=owner.id)
        given.page("draft", owner_id=owner.id)
        given.product("draft", owner_id=owner.id)
        given.order("pending", owner_id=owner.id)
        given.order("completed", owner_id=owner.id)
        given.job("failed", owner_id=owner.id)
        given.session(owner)
        given.service_token(owner)
    given.category(owner_id=ann.id)
    given.contact_message()
    return {"ann": ann, "bob": bob}


@pytest.fixture(scope="module")
def both(app, world):
    """`both(role)`: the same user of that role as a visitor of the console and as a caller of the API."""
    known = {}

    def pair(role):
        if role not in known:
            visitor = visit(app, role)
            known[role] = visitor, log_in(app, visitor.user)
        return known[role]

    return pair


def collections(app):
    return app.extensions["gatepost"].collections


def served(collection):
    return {endpoint.name: endpoint for endpoint in collection.endpoints()}


def below(found, path):
    """Returns the targets of a page below a path: links without their query, and forms."""
    links = {urlsplit(link).path for link in found.links}
    actions = {urlsplit(form.action).path for form in found.forms if form.method == "post"}
    return {one for one in links | actions if one.startswith(f"{path}/")}


def forms(found, path):
    """The verbs that a page offers on the object of a path."""
    return {one.rpartition("/")[2] for one in below(found, path)} - {"unshare"}


@each_role
def test_the_first_page_leads_to_the_collections_that_the_api_lists_and_no_others(role, both, app):
    visitor, caller = both(role)
    found = visitor.page(ROOT)
    listed = {name for name, one in collections(app).items() if "list" in served(one)
              and caller.get(f"/api/{name}").status_code == 200}
    assert {link.removeprefix(f"{ROOT}/") for link in found.links if link.startswith(f"{ROOT}/")
            and link.count("/") == 3} == listed
    for name in collections(app).keys() - listed:
        assert visitor.get(f"{ROOT}/{name}").status_code == 403, name


@each_role
def test_a_page_of_rows_has_the_rows_that_the_api_answers_in_its_order(role, both, app):
    visitor, caller = both(role)
    for name, collection in collections(app).items():
        answer = caller.get(f"/api/{name}")
        if answer.status_code != 200 or "get" not in served(collection):
            continue
        rows = [row["id"] for row in answer.get_json()["items"]]
        links = [urlsplit(link).path for link in visitor.page(f"{ROOT}/{name}").links]
        shown = [link.removeprefix(f"{ROOT}/{name}/") for link in links if link.startswith(f"{ROOT}/{name}/")]
        found = [id for id in dict.fromkeys(shown) if id in rows]
        # A reference may lead to a row before its own line.
        assert found == rows or (set(found) == set(rows) and name == "categories"), name


@each_role
def test_an_object_offers_exactly_what_the_api_allows(role, both, app):
    visitor, caller = both(role)
    for name, collection in collections(app).items():
        if "get" not in served(collection) or not collection.computed:
            continue
        answer = caller.get(f"/api/{name}?fields=id,allowed_actions&limit=100")
        for row in answer.get_json()["items"] if answer.status_code == 200 else ():
            path = f"{ROOT}/{name}/{row['id']}"
            assert forms(visitor.page(path), path) == set(row["allowed_actions"]) & served(collection).keys(), path


@each_role
def test_a_form_that_is_not_offered_is_refused_and_one_that_is_can_be_drawn(role, both, app, client):
    visitor, caller = both(role)
    for name, collection in collections(app).items():
        known = served(collection)
        answer = caller.get(f"/api/{name}?fields=id,allowed_actions&limit=6")
        if answer.status_code != 200 or "get" not in known or not collection.computed:
            continue
        asking = [verb for verb, one in known.items() if verb in ("update", "delete", "share")
                  or (one.method == "POST" and "<id>" in one.path and one.body is not None and one.body.load_fields)]
        for row in answer.get_json()["items"]:
            for verb in asking:
                status = visitor.get(f"{ROOT}/{name}/{row['id']}/{verb}").status_code
                allowed = verb in row["allowed_actions"]
                # The form of an order reports what its state forbids.
                assert status == 200 if allowed else status == 403 or name in ("orders", "users"), (verb, row)


@each_role
def test_jobs_and_sessions_offer_what_the_api_does(role, both, app):
    """Jobs and sessions have no `allowed_actions`: their owners may act, and users whom the rules allow."""
    visitor, caller = both(role)
    for job in caller.get("/api/jobs").get_json()["items"]:
        path = f"{ROOT}/jobs/{job['id']}"
        assert forms(visitor.page(path), path) == {"retry", "delete"}
    rows = caller.get("/api/sessions?limit=100").get_json()["items"]
    offered = below(visitor.page(f"{ROOT}/sessions"), f"{ROOT}/sessions") - {f"{ROOT}/sessions/several"}
    assert offered <= {f"{ROOT}/sessions/{row['id']}/delete" for row in rows}
    assert offered or not rows


@each_role
def test_something_new_is_offered_to_those_who_may_make_it(role, both, app):
    visitor, caller = both(role)
    may = caller.get("/api/profile").get_json()["permissions"]
    for name, collection in collections(app).items():
        if "create" not in served(collection) or caller.get(f"/api/{name}").status_code != 200:
            continue
        permission = f"{collection.resource}.create"
        allowed = bool({"*", f"{collection.resource}.*", permission} & set(may))
        assert (f"{ROOT}/{name}/create" in visitor.page(f"{ROOT}/{name}").links) == allowed
        assert visitor.get(f"{ROOT}/{name}/create").status_code == (200 if allowed else 403)


def test_a_guest_is_led_to_the_login(app, world):
    for path in (ROOT, f"{ROOT}/articles", f"{ROOT}/users", f"{ROOT}/contact/create"):
        assert visit(app).get(path).headers["Location"] == f"/console/login?next={path}"


def test_no_page_changes_anything(app, both, world, given):
    visitor, _ = both("admin")
    tables = [one.model for one in collections(app).values()] + [Share]

    def state():
        with given.database.connected():
            return {model: sorted(str(sorted(row.__data__.items(), key=str)) for row in Rows(model, given.tenant_id)
                                  .select()) for model in tables if model is not Audit and model.__name__ != "Session"}

    before, seen, left = state(), set(), [ROOT]
    while left and len(seen) < 150:
        path = left.pop()
        seen.add(path)
        answer = visitor.get(path)
        assert answer.status_code == 200, path
        left += [link for link in Seen.of(answer).links if link.startswith(ROOT) and link not in seen | set(left)]
    assert state() == before


@pytest.mark.parametrize("text", [HOSTILE, LONG, "a\nb\tc"], ids=["script", "long", "lines"])
def test_a_text_of_a_row_stays_a_text(text, both, given):
    visitor, _ = both("admin")
    article = given.article("draft", title=text, body=text + "\n\nMore.")
    for path in (f"{ROOT}/articles?status=draft", f"{ROOT}/articles/{article.id}",
                 f"{ROOT}/articles/{article.id}/update", f"{ROOT}/articles/{article.id}/delete"):
        answer = visitor.get(path)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text and "49\N{RIGHT-TO-LEFT OVERRIDE}" not in answer.text
        outside = Seen.of(answer).text
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in outside or path.endswith("update")
    assert visitor.page(f"{ROOT}/articles/{article.id}/update").form(
        f"{ROOT}/articles/{article.id}/update").fields["body"].removeprefix("\n") == text + "\n\nMore."


def test_what_is_of_another_tenant_is_as_good_as_absent(both, elsewhere):
    visitor, _ = both("admin")
    article = elsewhere.article(title="Not of this house")
    assert "Not of this house" not in visitor.page(f"{ROOT}/articles?count=yes").text
    for path in (article.id, f"{article.id}/update", f"{article.id}/delete", f"{article.id}/share", NO_ROW):
        assert visitor.get(f"{ROOT}/articles/{path}").status_code == 404
    assert visitor.post(f"{ROOT}/articles/{article.id}/archive").status_code == 404
    assert elsewhere.found(type(article), article.id).status == "published"


def test_a_field_that_is_not_shown_to_the_caller_is_on_no_page(both, given):
    visitor, _ = both("user")
    other = given.user(name="Dora Dale", email="dora.dale@example.org", department="secret-service")
    for path in (f"{ROOT}/users?q=Dora", f"{ROOT}/users/{other.id}"):
        found = visitor.page(path).text
        assert "Dora Dale" in found and "dora.dale@" not in found and "secret-service" not in found


def test_lists_are_searched_filtered_sorted_and_paged_as_the_api_does(both, given):
    visitor, _ = both("admin")
    owner = given.user(name="Quentin Quince")
    rows = [given.article("archived", title=f"Quillwort {number:02}", owner_id=owner.id) for number in range(23)]
    query = "q=quillwort&status=archived&owner=quentin&sort=title&count=yes"
    first = visitor.page(f"{ROOT}/articles?{query}")
    assert "Quillwort 00" in first.text and "Quillwort 19" in first.text and "Quillwort 20" not in first.text
    assert "23 total" in first.text
    further = next(link for link in first.links if "cursor=" in link)
    assert parse_qs(urlsplit(further).query)["owner"] == ["quentin"]
    second = visitor.page(further)
    assert "Quillwort 22" in second.text and "Quillwort 19" not in second.text
    back = next(link for link in second.links if "before=" in link)
    assert "Quillwort 19" in visitor.page(back).text
    assert "No matching rows." in visitor.page(f"{ROOT}/articles?status=draft&q=quillwort").text
    assert "There is no such user" in visitor.page(f"{ROOT}/articles?owner=nobody-of-that-name").text
    assert visitor.page(f"{ROOT}/articles?status=nonsense").text
    assert visitor.get(f"{ROOT}/articles?colour=red").status_code == 400
    assert len(rows) == 23


def test_an_object_tells_names_shares_and_what_happened_to_it(both, given):
    visitor, caller = both("admin")
    owner, reader = given.user(name="Olga Owner"), given.user(name="Rita Reader")
    category = given.category(name="Tides")
    article = given.article("draft", title="About tides", owner_id=owner.id, category_id=category.id)
    given.share("article", article, f"user:{reader.id}", "write")
    assert caller.post(f"/api/articles/{article.id}/publish").status_code == 200
    found = visitor.page(f"{ROOT}/articles/{article.id}")
    assert all(name in found.text for name in ("Olga Owner", "Rita Reader", "Tides"))
    assert f"{ROOT}/categories/{category.id}" in found.links
    assert "publish" in found.text[found.text.index("Recent events"):]
    [all_of_it] = [link for link in found.links if article.id in link and link.startswith("/console/audit?")]
    assert "article.publish" in visitor.page(all_of_it).text
    assert any(link.startswith("/console/why?") and article.id in link for link in found.links)
    plain = both("editor")[0].page(f"{ROOT}/articles/{article.id}")
    assert "Recent events" not in plain.text.replace("and what happened to it", "")
    assert not any(link.startswith("/console/why") for link in plain.links)


def test_there_is_no_page_of_what_is_not_there(both, world):
    visitor, _ = both("admin")
    assert visitor.get(f"{ROOT}/dragons").status_code == 404
    assert visitor.get(f"{ROOT}/articles/no-id").status_code == 400
    assert visitor.get(f"{ROOT}/articles/{NO_ROW}").status_code == 404
    assert visitor.get(f"{ROOT}/articles/{NO_ROW}/explode").status_code == 404
    assert visitor.post(f"{ROOT}/articles/{NO_ROW}/explode").status_code == 404


def test_a_row_without_a_title_is_called_by_the_beginning_of_its_text(app, given):
    row = given.comment("pending", body="Well said.\nAnd more.")
    page = visit(app, "admin").get(f"{ROOT}/comments/{row.id}").text
    assert "<h1><bdi>Well said.</bdi></h1>" in page
