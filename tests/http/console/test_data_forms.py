"""Forms for rows: each calls the API's endpoint, has its effect once if sent repeatedly, and keeps typed values."""

from __future__ import annotations

import re

import pytest

from gatepost.collections.plugins.discovery import discover
from models.base import Rows
from models.engine.connect import open_database
from models.migrate import upgrade
from models.tables.article import Article
from models.tables.audit import Audit
from models.tables.order import Order
from models.tables.product import Product
from models.tables.share import Share
from models.tables.user import User
from tests.apps import NO_ROW, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import Seen, visit
from tests.http.resources.shelf.books import Book, Books

ROOT = "/console/data"


@pytest.fixture(scope="module")
def admin(app):
    return visit(app, "admin")


def sent(visitor, page, action=None, **values):
    """Sends the form of a page with its own values and these typed ones, and returns the answer."""
    action = action or page
    form = visitor.page(page).form(action)
    return visitor.post(action, {**form.fields, **values})


def recorded(given, id):
    with given.database.connected():
        return [row.action for row in Rows(Audit, given.tenant_id).select().where(Audit.resource_id == id)
                .order_by(Audit.id)]


def test_an_action_is_done_once_however_often_its_button_is_pressed(admin, given):
    article = given.article("draft", title="To be published")
    path = f"{ROOT}/articles/{article.id}"
    form = admin.page(path).form(f"{path}/publish")
    answers = [admin.post(f"{path}/publish", form.fields) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [303] * 3
    assert {answer.headers["Location"] for answer in answers} == {path}
    assert given.found(Article, article.id).version == 2
    assert recorded(given, article.id) == ["publish"]


def test_what_was_deleted_by_the_first_click_is_no_error_for_the_second(admin, given):
    article = given.article("draft")
    path = f"{ROOT}/articles/{article.id}/delete"
    form = admin.page(path).form(path)
    assert "cannot be undone" in admin.page(path).text
    assert [admin.post(path, form.fields).status_code for _ in range(2)] == [303, 303]
    assert given.found(Article, article.id) is None and recorded(given, article.id) == ["delete"]


def test_an_action_that_its_state_forbids_is_told_on_the_page_of_the_object(admin, given):
    article = given.article("archived", title="Long gone")
    answer = admin.post(f"{ROOT}/articles/{article.id}/publish")
    found = Seen.of(answer)
    assert answer.status_code == 409 and "publish is not possible from archived." in found.text
    assert "Long gone" in found.text


@pytest.mark.parametrize("role", ["user", "support", "moderator", "developer"])
def test_what_a_role_may_not_do_is_refused_and_recorded(role, app, given):
    article = given.article("published")
    visitor, path = visit(app, role), f"{ROOT}/articles/{article.id}"
    for verb, values in (("archive", {}), ("delete", {}), ("update", {"title": "Mine"}),
                         ("share", {"grantee": f"user:{visitor.user.id}", "right": "manage"})):
        assert visitor.post(f"{path}/{verb}", values).status_code == 403, verb
    kept = given.found(Article, article.id)
    assert (kept.status, kept.title, kept.version) == ("published", article.title, 1)


def test_a_guest_is_led_to_the_login(app, given):
    article = given.article("published")
    answer = visit(app).post(f"{ROOT}/articles/{article.id}/archive")
    assert answer.status_code == 303 and answer.headers["Location"].startswith("/console/login")
    assert given.found(Article, article.id).status == "published"


def test_a_form_of_another_origin_is_refused(admin, given):
    article = given.article("published")
    for path in ("archive", "update/again"):
        answer = admin.client.post(f"{ROOT}/articles/{article.id}/{path}", data={},
                                   headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403
    assert given.found(Article, article.id).status == "published"


def test_a_change_is_stored_and_leads_to_the_object(admin, given):
    article = given.article("draft", title="Before", body="One\n\n two", category_id=given.category().id)
    path = f"{ROOT}/articles/{article.id}/update"
    answer = sent(admin, path, title="After \N{RIGHT-TO-LEFT OVERRIDE}", body="\r\nOne\r\ntwo", category_id="")
    assert answer.status_code == 303 and answer.headers["Location"] == f"{ROOT}/articles/{article.id}"
    kept = given.found(Article, article.id)
    assert (kept.title, kept.body, kept.category_id) == ("After \N{RIGHT-TO-LEFT OVERRIDE}", "\nOne\ntwo", None)


def test_what_is_wrong_stands_beside_its_field_with_what_was_typed(admin, given):
    article = given.article("draft")
    path = f"{ROOT}/articles/{article.id}/update"
    answer = sent(admin, path, title="A good title", slug="Not a slug", language="")
    found = Seen.of(answer)
    assert answer.status_code == 400 and found.form(path).fields["title"] == "A good title"
    assert found.form(path).fields["slug"] == "Not a slug"
    assert re.search(r'id="f-slug".*?aria-invalid="true".*?Use a-z, 0-9 and single hyphens\.', answer.text, re.DOTALL)
    assert given.found(Article, article.id).version == 1


def test_who_was_slower_is_told_who_was_quicker_and_loses_nothing(admin, app, given):
    article = given.article("draft", title="At first", owner_id=given.user(name="Otto").id)
    path = f"{ROOT}/articles/{article.id}/update"
    form = admin.page(path).form(path)
    quicker = visit(app, given.user("editor", name="Quick Quinn"))
    assert sent(quicker, path, title="Quinn's title").status_code == 303
    answer = admin.post(path, {**form.fields, "title": "My own title"})
    found = Seen.of(answer)
    assert answer.status_code == 412 and "Quick Quinn" in found.text and "update" in found.text
    assert found.form(path).fields["title"] == "My own title" and "Current value: Quinn's title" in found.text
    assert found.text.count("Current value:") == 1
    assert given.found(Article, article.id).title == "Quinn's title"
    assert admin.post(path, found.form(path).fields).status_code == 303
    assert given.found(Article, article.id).title == "My own title"


def test_a_button_of_an_older_page_says_that_the_object_was_changed(admin, given):
    article = given.article("draft")
    path = f"{ROOT}/articles/{article.id}"
    old = admin.page(path).form(f"{path}/publish").fields
    assert sent(admin, f"{path}/update", title="Another").status_code == 303
    assert admin.post(f"{path}/publish", old).status_code == 412
    assert given.found(Article, article.id).status == "draft"


def test_a_version_that_the_caller_may_not_see_guards_all_the_same(app, given):
    """The version of a user is hidden: a caller who may not see it gets an entity tag instead."""
    visitor = visit(app, given.user(name="Ida"))
    path = f"{ROOT}/users/{visitor.user.id}/update"
    old = visitor.page(path).form(path).fields
    assert "role" not in old and old["_version"]
    assert visitor.post(path, {**old, "name": "Ida B."}).status_code == 303
    assert visitor.post(path, {**old, "_key": "another", "name": "Ida C."}).status_code == 412
    assert given.found(User, visitor.user.id).name == "Ida B."


def test_something_new_is_made_once_with_what_is_left_out_by_default(admin, given):
    path = f"{ROOT}/articles/create"
    form = admin.page(path).form(path).fields
    values = {**form, "title": "Brand new", "slug": "brand-new", "body": "Words."}
    answers = [admin.post(path, values) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    made = given.found(Article, answers[0].headers["Location"].rpartition("/")[2])
    assert (made.title, made.owner_id, made.status) == ("Brand new", admin.user.id, "draft")
    assert answers[0].headers["Location"] == answers[1].headers["Location"]


def test_the_owner_of_something_new_comes_last(admin):
    page = admin.page("/console/data/products/create")
    names = [name for name in page.form("/console/data/products/create").fields if not name.startswith("_")]
    assert (names[0], names[-1]) == ("name", "owner_id")
    assert "If you choose nobody, you are the owner." in page.text


@pytest.mark.parametrize(("typed", "stored"), [("eur", "EUR"), (" Eur ", "EUR"), ("JPY", "JPY")])
def test_a_currency_is_typed_in_any_case(typed, stored, admin, given):
    sku = f"case-{stored}-{len(typed)}-{typed.strip()}"
    made = admin.post("/console/data/products/create", {"name": "N", "sku": sku, "price": "12", "currency": typed})
    assert made.status_code == 303, made.text
    row = given.found(Product, made.headers["Location"].rpartition("/")[2])
    assert (row.currency, row.price) == (stored, 1200 if stored == "EUR" else 12)


@pytest.mark.parametrize("currency", ["US", "euro", "\N{EURO SIGN}"])
def test_the_fault_of_a_currency_says_what_to_write(currency, admin):
    answer = admin.post("/console/data/products/create", {
        "name": "N", "sku": "no-currency", "price": "12", "currency": currency})
    text = Seen.of(answer).text
    assert answer.status_code == 400
    assert "Three letters, such as EUR." in text
    assert "Correct the currency." in text


def test_a_row_to_refer_to_is_found_by_its_title_and_nothing_typed_is_lost(admin, given):
    given.category(name="Saltmarsh")
    path = f"{ROOT}/articles/create"
    answer = admin.post(f"{path}/again", {"title": "Kept", "_find_category_id": "saltm", "_find": "category_id"})
    found = Seen.of(answer)
    assert f"{path}/again" in found.form(path).buttons
    assert answer.status_code == 200 and "Saltmarsh" in found.text and found.form(path).fields["title"] == "Kept"


def test_the_row_that_is_chosen_stays_beside_those_that_are_found(admin, given):
    chosen, other = given.category(name="Chosen one"), given.category(name="Other one")
    path = f"{ROOT}/articles/create"
    text = admin.post(f"{path}/again", {"category_id": chosen.id, "_find_category_id": "Other"}).text
    assert all(f'value="{one.id}"' in text and one.name in text for one in (chosen, other))


def test_a_person_is_found_given_a_right_and_loses_it_again(admin, given):
    article, reader = given.article("draft"), given.user(name="Wanda Warbler")
    path = f"{ROOT}/articles/{article.id}/share"
    found = Seen.of(admin.post(f"{path}/again", {"_find_grantee": "warbler", "_find": "grantee"}))
    assert "Wanda Warbler" in found.text and found.form(path).fields["grantee"] == [f"user:{reader.id}", ""]
    assert sent(admin, path, grantee=f"user:{reader.id}", right="write").status_code == 303
    page = admin.page(f"{ROOT}/articles/{article.id}")
    assert "Wanda Warbler" in page.text
    form = next(form for form in page.forms if "/unshare?" in form.action)
    assert admin.post(form.action, form.fields).status_code == 303
    with given.database.connected():
        assert Rows(Share, given.tenant_id).select().where(Share.object_id == article.id).count() == 0
    assert recorded(given, article.id) == ["share", "share"]


def test_nobody_gives_up_a_right_of_their_own_by_the_form_of_those_who_share(admin, given):
    """`me` belongs to another endpoint of the API, which needs no permission. The console has no form for it."""
    article = given.article("draft")
    assert admin.post(f"{ROOT}/articles/{article.id}/unshare?grantee=me").status_code == 404


def test_a_secret_is_shown_once(app, given):
    visitor, path = visit(app, "admin"), f"{ROOT}/tokens/create"
    assert "_key" not in visitor.page(path).form(path).fields
    wrong = sent(visitor, path, name="Nightly", scopes="read:moons")
    assert wrong.status_code == 400 and "There is no scope" in Seen.of(wrong).text
    answer = sent(visitor, path, name="Nightly", scopes="read:articles, read:pages")
    assert answer.status_code == 200 and re.search(r"<code>g[a-z]_[\w-]{20,}</code>", answer.text)
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Nightly" in visitor.page(f"{ROOT}/tokens").text


def test_a_session_is_ended_from_the_list(app, given):
    user = given.user()
    session, visitor = given.session(user), visit(app, user)
    path = f"{ROOT}/sessions/{session.id}/delete"
    assert path in visitor.page(f"{ROOT}/sessions").links
    assert sent(visitor, path).headers["Location"] == f"{ROOT}/sessions"
    assert path not in visitor.page(f"{ROOT}/sessions").links


# Rows of a list

def test_an_order_is_made_of_rows_with_a_picker(admin, given):
    desk, lamp = given.product(name="Oak desk", price=24_900), given.product(name="Desk lamp", price=4_900)
    path = f"{ROOT}/orders/create"
    form = admin.page(path).form(path).fields | {"items.0.product_id": desk.id, "items.0.quantity": "1"}
    added = Seen.of(admin.post(f"{path}/again", {**form, "_add": "items"})).form(path).fields
    assert added["items.0.product_id"] == desk.id and added["items.1.quantity"] == ""
    answer = admin.post(path, {**added, "items.1.product_id": lamp.id, "items.1.quantity": "2"})
    assert answer.status_code == 303
    order = given.found(Order, answer.headers["Location"].rpartition("/")[2])
    assert order.total == 24_900 + 2 * 4_900
    again = admin.post(path, {**added, "items.1.product_id": lamp.id, "items.1.quantity": "2"})
    assert again.headers["Location"] == answer.headers["Location"], "a double click orders once"


def test_faults_of_an_order_stand_beside_its_rows(admin, given):
    product, rare = given.product(), given.product(stock=1)
    path = f"{ROOT}/orders/create"
    form = admin.page(path).form(path).fields | {"items.0.product_id": product.id, "items.0.quantity": "1"}
    wrong = admin.post(path, {**form, "items.1.product_id": NO_ROW, "items.1.quantity": "1", "items.2.quantity": "0"})
    beside = {given["id"] for tag, given in Seen.of(wrong).tags if given.get("id", "").startswith("e-")}
    assert wrong.status_code == 400 and beside == {"e-items.2.product_id-1", "e-items.2.quantity-1"}
    hidden = admin.post(path, {**form, "items.1.product_id": NO_ROW, "items.1.quantity": "1"})
    assert hidden.status_code == 400 and 'id="e-items.1.product_id-1"' in hidden.text
    short = admin.post(path, {**form, "items.1.product_id": rare.id, "items.1.quantity": "5", "_key": "short"})
    assert short.status_code == 409
    assert "not enough in stock" in short.text[short.text.index('name="items.1.quantity"'):]
    empty = admin.post(path, {**admin.page(path).form(path).fields, "_key": "empty"})
    assert empty.status_code == 400 and 'id="e-items-1"' in empty.text
    assert "Enter 1 to 100 rows." in empty.text
    words = admin.post(path, {**form, "items.0.quantity": "two", "_key": "words"})
    assert "Write a whole number." in words.text
    assert "items.0.quantity" in Seen.of(empty).form(path).fields


def test_rows_to_choose_from_are_those_that_the_caller_may_view(app, admin, given):
    hidden, active = given.product("draft", name="Secret prototype"), given.product(name="Common chair")
    path, visitor = f"{ROOT}/orders/create", visit(app, "user")

    def found(visitor, text):
        return visitor.post(f"{path}/again", {"_find_items.0.product_id": text, "_find": "items.0.product_id",
                                              "items.0.quantity": "1"}).text

    for text in ("", "Secret", "Common", hidden.id):
        assert "Secret prototype" not in found(visitor, text)
    assert active.id in found(visitor, "Common") and hidden.id in found(admin, "Secret")


def test_many_rows_are_searched(admin, given):
    for number in range(22):
        given.category(name=f"Dune {number:02}")
    path = f"{ROOT}/articles/create"
    page = admin.page(path)
    assert "_find_category_id" in page.form(path).fields
    found = Seen.of(admin.post(f"{path}/again", {"_find_category_id": "Dune 2", "_find": "category_id"}))
    shown = [given["value"] for tag, given in found.tags if tag == "option"]
    assert {"Dune 20", "Dune 21"} <= set(re.findall(r"Dune \d\d", found.text)) and "Dune 03" not in found.text and shown
    nothing = Seen.of(admin.post(f"{path}/again", {"_find_category_id": "Nowhere", "_find": "category_id"}))
    assert "No matching rows." in nothing.text


# Names of the policy

@pytest.fixture
def grouped(request, tmp_path):
    """A service whose rules name the group `atlas`."""
    url = new_database("sqlite", request)
    folder = new_instance(tmp_path / "instance", url, "default")
    condition, rule = "p.when == 'atlas' && inGroup(r.sub, 'atlas') || \\", "p, user, article.archive, atlas, allow"
    for name, before, line in ("model.conf", "p.when == 'intranet'", condition), ("articles.csv", "# end", rule):
        file = folder / "policies" / name
        file.write_text(file.read_text().replace(before, f"{line}\n    {before}" if name == "model.conf"
                                                 else f"{line}\n{before}"))
    made = make_app(folder, url)
    yield made
    close(made)


def test_roles_and_groups_are_chosen_from_the_policy(grouped):
    admin = visit(grouped, "admin")
    page = admin.get(f"{ROOT}/users/create").text
    assert re.search(r'type="checkbox" name="groups" value="atlas"', page)
    assert re.search(r'<option value="editor">', page)
    path = f"{ROOT}/users/create"
    form = admin.page(path).form(path).fields | {
        "name": "Gil Green", "email": "gil@example.org", "password": "a long enough passphrase", "role": "editor",
        "groups": ["", "atlas", "harbour", "atlas"]}
    answer = admin.post(path, form)
    assert answer.status_code == 303, Seen.of(answer).text
    user = Given(grouped, "default").found(User, answer.headers["Location"].rpartition("/")[2])
    assert (user.role, user.groups) == ("editor", ["atlas", "harbour"])
    change = f"{ROOT}/users/{user.id}/update"
    fields = admin.page(change).form(change).fields
    assert fields["groups"] == ["", "atlas", "harbour", ""]
    assert admin.post(change, {**fields, "groups": ["", "harbour"]}).status_code == 303
    assert Given(grouped, "default").found(User, user.id).groups == ["harbour"]


def test_scopes_of_a_token_are_check_boxes(app):
    visitor, path = visit(app, "admin"), f"{ROOT}/tokens/create"
    page = visitor.page(path)
    boxes = {given["value"] for tag, given in page.tags if given.get("type") == "checkbox"}
    assert boxes == visitor_scopes(app)
    answer = visitor.post(path, {**page.form(path).fields, "name": "Two", "scopes": ["", "read:pages", "read:orders"]})
    assert answer.status_code == 200 and "Two" in visitor.page(f"{ROOT}/tokens").text


def visitor_scopes(app):
    return set(app.extensions["gatepost"].policy.current.scope_names)


def test_roles_and_groups_are_offered_only_to_those_who_may_share_with_them(app, admin, given):
    author = given.user()
    article = given.article("draft", owner_id=author.id)
    path = f"{ROOT}/articles/{article.id}/share"
    assert 'value="role:editor"' in admin.get(path).text
    mine = visit(app, author).get(path)
    assert mine.status_code == 200 and 'value="role:editor"' not in mine.text and "group:" not in mine.text


def test_fields_that_the_caller_may_not_set_are_not_shown(app, given):
    user = given.user()
    visitor = visit(app, user)
    path = f"{ROOT}/users/{user.id}/update"
    assert {"role", "groups", "department", "owner_id"}.isdisjoint(visitor.page(path).form(path).fields)
    article = given.article("draft", owner_id=user.id)
    path = f"{ROOT}/articles/{article.id}/update"
    fields = visitor.page(path).form(path).fields
    assert "owner_id" not in fields and "title" in fields
    assert visitor.post(path, {**fields, "owner_id": given.user().id}).status_code == 400
    assert given.found(Article, article.id).owner_id == user.id


# A plugin's collection

@pytest.fixture(scope="module")
def shelf(request, tmp_path_factory):
    url = new_database("sqlite", request, migrated=False)
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    upgrade(database, discover([Books]).migrations)
    database.close_all()
    made = make_app(new_instance(tmp_path_factory.mktemp("shelf") / "instance", url, "default"), url, [Books])
    yield made
    close(made)


def test_a_plugins_collection_has_its_pages_and_forms(shelf):
    editor, books = visit(shelf, "editor"), Given(shelf, "default")
    assert f"{ROOT}/books" in editor.page(ROOT).links
    created = sent(editor, f"{ROOT}/books/create", title="Salt & light", tags="sea, coast")
    assert created.status_code == 303
    path = created.headers["Location"]
    book = books.found(Book, path.rpartition("/")[2])
    assert (book.title, book.tags) == ("Salt & light", ["sea", "coast"])
    found = editor.page(path)
    assert {"rate", "lend", "keep"} <= {link.rpartition("/")[2] for link in (
        *found.links, *(form.action for form in found.forms))} and "come_back" not in found.text
    wrong = sent(editor, f"{path}/rate", stars="9")
    assert wrong.status_code == 400 and "less than or equal to 5" in Seen.of(wrong).text
    assert sent(editor, f"{path}/rate", stars="4").status_code == 303
    conflict = sent(editor, f"{path}/rate", stars="5")
    assert conflict.status_code == 409 and "Nobody gives five stars" in Seen.of(conflict).text
    assert sent(editor, path, f"{path}/keep").status_code == 303
    assert sent(editor, f"{path}/lend", to="Ann").status_code == 303
    assert f"{path}/lend" not in editor.page(path).links
    kept = books.found(Book, book.id)
    assert (kept.stars, kept.status, kept.tags) == (4, "lent", ["sea", "coast", "at Ann"])


def test_an_entry_with_a_comma_in_it_is_kept(shelf):
    editor, books = visit(shelf, "editor"), Given(shelf, "default")
    book = books.row(Book(title="Commas", tags=["one, two", "three"], owner_id=editor.user.id))
    assert sent(editor, f"{ROOT}/books/{book.id}/update").status_code == 303
    assert books.found(Book, book.id).tags == ["one, two", "three"]
