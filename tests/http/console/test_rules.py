"""*Rules*: the table of the API as a page, the rules behind a mark, and edits that are not in force."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pytest

from blueprints.policy.pages.rules import MOST_PILLS, Remark
from policies.syntax.roles import MOST_ROLES, declared
from tests.apps import NO_ROW
from tests.http.console.pages import Seen, visit
from tests.http.console.tables import HOSTILE, RULES, seen, table

MATRIX = "/api/admin/policy/matrix"


def told(as_role, **query):
    """Returns the API's answer to an administrator."""
    answer = as_role("admin").get(f"{MATRIX}?{urlencode(query)}")
    assert answer.status_code == 200, answer.text
    return answer.get_json()


def said(cell):
    """Returns the page's words for a cell of the API."""
    if cell is None:
        return "never"
    words = [*(part["word"] for part in cell["allow"]), *(f"not {part['word']}" for part in cell["deny"])]
    return " ".join(dict.fromkeys(words))


@pytest.fixture
def admin(app):
    return visit(app, "admin")


# The table

def test_each_cell_says_what_the_api_answers_and_leads_to_its_lines(admin, as_role):
    found, page = table(admin.get(RULES)), told(as_role)
    rows = [row for one in page["resources"] for row in one["permissions"]]
    assert found.columns == page["roles"]
    assert [f"{row.group}.{row.head}" for row in found.rows] == [row["permission"] for row in rows]
    for shown, row in zip(found.rows, rows, strict=True):
        for role, cell in zip(found.columns, shown.cells, strict=True):
            asked = row["cells"].get(role)
            name = f"{role} {row['permission']}"
            assert cell.text == (said(asked) if asked is None else f"{name}: {said(asked)}"), name
            assert cell.cell == (None if asked is None else name)


def test_the_version_and_the_lines_are_named_with_the_way_to_the_history(admin, as_role):
    found, page = seen(admin), told(as_role)
    assert f"Policy version {page['version']}, {page['line_count']} rules." in found.text
    assert "/console/history" in found.links


def test_each_word_and_each_scope_is_explained(admin, as_role):
    text, page = seen(admin).text, told(as_role)
    assert all(f"{word}{meaning}" in text.replace(" ", "") for word, meaning in (
        (word.replace(" ", ""), meaning.replace(" ", "")) for word, meaning in page["conditions"].items()))
    assert all(scope in text for scope in page["scopes"])


def test_the_table_is_skipped_by_a_link_before_it(admin):
    found = seen(admin)
    assert "#more" in found.links and "more" in found.ids
    assert found.links.index("#more") < found.links.index("?cell=guest%20article.view#cell")


@pytest.mark.parametrize(("query", "columns", "groups"), [
    ({"resource": "order"}, 9, {"order"}),
    ({"role": "editor"}, 1, None),
    ({"resource": "article", "role": "guest"}, 1, {"article"}),
    ({"resource": "order,article"}, 9, {"article", "order"}),
], ids=["a resource", "a role", "both", "two resources"])
def test_the_table_is_of_what_is_asked_for_and_its_marks_keep_that(query, columns, groups, admin):
    found = table(admin.get(f"{RULES}?{urlencode(query)}"))
    assert len(found.columns) == columns
    assert groups is None or {row.group for row in found.rows} == groups
    kept = parse_qs(urlsplit(found.links[0]).query)
    assert {name: [value] for name, value in query.items()}.items() <= kept.items()


@pytest.mark.parametrize(("query", "words"), [
    ({"resource": "moons"}, "There is no such resource."), ({"role": "janitor"}, "There is no such role."),
    ({"person": "nobody@example.org"}, "There is no such user"), ({"person": NO_ROW}, "There is no such user"),
    ({"person": "zzyzx"}, "No user with this name has user-specific rules."), ({"person": "x" * 200}, "Length must be"),
    ({"offset": "many"}, "integer"), ({"offset": "100"}, "There are no more entries."),
    ({"cell": "editor article.burn"}, "There is no such cell in this table."),
    ({"cell": "janitor article.view"}, "There is no such cell in this table."),
    ({"cell": "user article.view", "resource": "order"}, "There is no such cell in this table."),
    ({"cell": "user", "at": " "}, "Rules"),
])
def test_what_there_is_not_is_said_in_words(query, words, admin):
    found = seen(admin, **query)
    assert words in found.text
    assert found.form(RULES).fields.keys() >= {"resource", "role", "person"}


def test_nothing_is_changed_by_any_form_of_it(admin):
    assert {(form.action, form.method) for form in seen(admin, cell="user article.update").forms} == {
        ("/console/logout", "post"), (RULES, "get"), ("/console/why", "get")}


def test_the_question_comes_first_and_is_filled_in_from_a_chosen_cell(admin):
    assert [form.action for form in seen(admin).forms][1] == "/console/why"
    form = seen(admin, cell="user article.update").form("/console/why")
    assert (form.fields["as"], form.fields["permission"]) == ("user", "article.update")
    assert admin.page("/console/why?as=user&permission=article.update&id=").text.count("user may") >= 1


# The lines behind a mark

def test_the_lines_behind_each_mark_are_those_of_the_api(admin, as_role):
    page = told(as_role, resource="article", role="user,editor")
    for row in page["resources"][0]["permissions"]:
        for role, cell in row["cells"].items():
            text = seen(admin, resource="article", role="user,editor", cell=f"{role} {row['permission']}").text
            assert f"{role} may {row['permission']}" in text
            for part in (*cell["allow"], *cell["deny"]):
                line = page["lines"][part["place"]]
                assert f"{part['place']}" in text and " ".join(line["rule"].split()) in text
                assert all(remark in text for remark in line["comment"])


def test_a_line_says_from_which_role_it_is_inherited_and_what_its_condition_means(admin):
    text = seen(admin, cell="moderator article.update").text
    assert "inherited from user" in text and "own_draft means r.obj.owner_id == r.sub.id" in text
    assert "inherited from" not in seen(admin, cell="user article.update").text


def test_the_lines_lead_on_to_why_to_who_that_is_and_to_trying_a_change(admin, as_role):
    page = told(as_role, resource="article", role="user")
    place = next(row for row in page["resources"][0]["permissions"]
                 if row["permission"] == "article.update")["cells"]["user"]["allow"][0]["place"]
    file, line = place.split(":")
    links = seen(admin, cell="user article.update").links
    assert {"/console/why?as=user&permission=article.update", "/console/people/who?permission=article.update",
            f"/console/try?file={file}&line={line}"} <= set(links)


def test_the_chosen_mark_is_named_and_closing_comes_back_to_it(admin):
    answer = admin.get(f"{RULES}?cell=user+article.update")
    [chosen] = [given for tag, given in Seen.of(answer).tags if given.get("aria-current") == "true"]
    assert (chosen["id"], unquote(chosen["href"])) == ("cell", "?cell=user article.update#cell")
    [close] = [link for link in Seen.of(answer).links if link.startswith("?at=")]
    [back] = [given for tag, given in seen(admin, at=parse_qs(close[1:].partition("#")[0])["at"][0]).tags
              if "data-focus" in given]
    assert (back["href"], back["id"]) == (chosen["href"], "cell")


def test_a_cell_without_a_mark_says_that_it_is_never(admin):
    text = seen(admin, cell="guest article.update").text
    assert "guest may not article.update" in text and "Never." in text


@pytest.mark.parametrize("name", ["resource", "role", "person", "cell", "at", "offset"])
def test_hostile_questions_are_texts(name, admin):
    text = admin.get(f"{RULES}?{urlencode({name: HOSTILE})}").text
    assert "<script>alert" not in text and '"><b>' not in text
    # Typed text stays unchanged in its field.
    assert ("\N{RIGHT-TO-LEFT OVERRIDE}" in text) == (name == "person")


# Size

@pytest.mark.parametrize("number", [MOST_PILLS, pytest.param(MOST_ROLES, marks=pytest.mark.slow)])
def test_a_phone_chooses_among_few_columns_by_pills_and_among_many_by_the_form(number, app, under):
    have = len(declared(dict(app.extensions["gatepost"].policy.current.files)))
    roles = "".join(f"g, extra-{index}, user\n" for index in range(number - have))
    admin = visit(under("", {"roles.csv": roles}), "admin")
    found, page = table(admin.get(RULES)), seen(admin)
    pills = [given for tag, given in page.tags if given.get("type") == "radio"]
    assert len(found.columns) == number
    assert len(pills) == (number if number <= MOST_PILLS else 0)
    assert ("Select a role above" in page.text) == (number > MOST_PILLS)
    alone = seen(admin, role="extra-1")
    assert len([given for tag, given in alone.tags if given.get("type") == "radio"]) == 1


@pytest.mark.parametrize(("query", "checked"), [
    ({}, "user"), ({"cell": "editor article.view"}, "editor"), ({"at": "owner article.view"}, "owner"),
    ({"role": "guest"}, "guest"),
])
def test_a_phone_shows_the_column_that_was_looked_at(query, checked, admin):
    columns = table(admin.get(f"{RULES}?{urlencode(query)}")).columns
    [pill] = [given["id"] for tag, given in seen(admin, **query).tags
              if given.get("type") == "radio" and "checked" in given]
    assert columns[int(pill[1:]) - 1] == checked


# What is not in force

def test_an_edit_that_was_refused_is_shown_with_its_lines(under):
    app = under()
    services, admin = app.extensions["gatepost"], visit(app, "admin")
    assert "not in force" not in seen(admin).text
    file = services.settings.instance / "policies" / "orders.csv"
    kept = file.read_text()
    file.write_text(kept.replace("# end\n", f"p, editr, order.view, always, allow\np, user, {HOSTILE}\n# end\n"))
    try:
        assert services.policy.reload().error is not None
        answer, page = admin.get(RULES), seen(admin)
    finally:
        file.write_text(kept)
    line = kept.count("\n")
    assert "The rule files are not active" in page.text
    assert f"orders.csv:{line}" in page.text and "did you mean editor?" in page.text
    assert f"/console/try?file=orders.csv&line={line}" in page.links
    assert "<script>alert" not in answer.text and "\N{RIGHT-TO-LEFT OVERRIDE}" not in answer.text
    services.policy.reload()
    assert "not in force" not in seen(admin).text


def test_warnings_are_counted_above_and_listed_below(under):
    page = seen(visit(under("", {"articles.csv": "p, user, article.view, published, allow\n"}), "admin"))
    assert "1 warning" in page.text and "#warnings" in page.links and "warnings" in page.ids
    assert "without effect" in page.text
    assert any(link.startswith("/console/try?file=articles.csv&line=") for link in page.links)


@pytest.mark.parametrize(("text", "remark"), [
    ("articles.csv:14: warning: without effect", Remark("articles.csv", "14", "without effect")),
    ("model.conf: it is broken: here", Remark("model.conf", "", "it is broken: here")),
    ("the files were not looked at for 12 s: see", Remark("", "", "the files were not looked at for 12 s: see")),
    ("../../etc/passwd:1: x", Remark("", "", "../../etc/passwd:1: x")),
])
def test_the_place_of_a_remark_is_read_from_it(text, remark):
    assert Remark.of(text) == remark
