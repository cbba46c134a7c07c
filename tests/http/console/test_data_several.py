"""Several rows at once: each row is a run of the API's own endpoint, and its outcome is listed."""

from __future__ import annotations

import re

import pytest

from models.base import Rows, new_id
from models.tables.article import Article
from models.tables.audit import Audit
from tests.apps import Given, close, make_app, new_instance
from tests.http.console.pages import Seen, visit

LIST = "/console/data/articles"
SEVERAL = f"{LIST}/several"


@pytest.fixture
def admin(app):
    return visit(app, "admin")


def boxes(visitor, path=f"{LIST}?sort=-created_at"):
    """Returns id → value of each check box of a list."""
    found = [given["value"] for tag, given in visitor.page(path).tags if tag == "input" and given.get("name") == "row"]
    return {value.partition(" ")[0]: value for value in found}


def send(visitor, rows, do, **more):
    return visitor.client.post(SEVERAL, data={"row": rows, "do": do, "_key": "a-key", **more},
                               headers={"Origin": "http://localhost"})


def outcomes(answer):
    """Returns the texts of the cells with outcomes."""
    assert answer.status_code == 200, answer.text
    cells = re.findall(r'<td class="wide">(.*?)</td>', answer.text)
    return [re.sub(r"\s+", " ", re.sub("<[^>]+>", "", cell)).strip() for cell in cells]


def recorded(given, ids):
    with given.database.connected():
        rows = Rows(Audit, given.tenant_id).select().where(Audit.resource_id.in_(ids)).order_by(Audit.id)
        return [(row.action, row.resource_id, row.result) for row in rows]


def states(given, ids):
    return [None if (row := given.found(Article, id)) is None else row.status for id in ids]


@pytest.mark.both_databases
def test_each_row_has_its_outcome_and_its_own_audit_event(admin, given):
    ids = [given.article(status).id for status in ("draft", "published", "draft")]
    known = boxes(admin)
    answer = send(admin, [known[id] for id in ids], "publish")
    assert outcomes(answer) == ["done", "refused publish is not possible from published.", "done"]
    assert "Done: 2 of 3 rows." in Seen.of(answer).text
    assert states(given, ids) == ["published"] * 3
    assert recorded(given, ids) == [("publish", ids[0], "allowed"), ("publish", ids[2], "allowed")]


@pytest.mark.both_databases
def test_a_second_submit_does_nothing_and_says_the_same(admin, given):
    ids = [given.article("draft").id for _ in range(3)]
    rows = [boxes(admin)[id] for id in ids]
    first = outcomes(send(admin, rows, "publish"))
    assert outcomes(send(admin, rows, "publish")) == first == ["done"] * 3
    assert len(recorded(given, ids)) == 3
    rows = [boxes(admin)[id] for id in ids]
    for _ in range(2):
        assert outcomes(send(admin, rows, "delete", sure="yes", _key="another")) == ["done"] * 3
    assert states(given, ids) == [None] * 3
    assert [action for action, _, _ in recorded(given, ids)].count("delete") == 3


def test_rows_to_which_a_user_may_do_nothing_have_no_box(app, given):
    visitor = visit(app, "user")
    own, foreign = given.article("draft", owner_id=visitor.user.id), given.article("published")
    assert f"{LIST}/{foreign.id}" in visitor.page(LIST).links
    assert list(boxes(visitor, LIST)) == [own.id]
    page = visitor.get(LIST).text
    assert 'value="delete"' in page and 'value="publish"' not in page
    given.product("active")
    assert 'name="row"' not in visitor.get("/console/data/products").text


def test_a_row_that_was_changed_meanwhile_is_reported(admin, app, given):
    ids = [given.article("draft").id for _ in range(2)]
    rows = [boxes(admin)[id] for id in ids]
    assert visit(app, "admin").post(f"{LIST}/{ids[0]}/publish").status_code == 303
    assert outcomes(send(admin, rows, "delete", sure="yes")) == [
        "refused This row was changed or deleted after the list was opened.", "done"]
    assert states(given, ids) == ["published", None]


def test_a_deletion_is_asked_first(admin, given):
    ids = [given.article("draft", title=f"Number {number}").id for number in range(2)]
    rows = [boxes(admin)[id] for id in ids]
    answer = send(admin, rows, "delete")
    page = Seen.of(answer)
    assert answer.status_code == 200 and "Delete 2 rows?" in page.text and "Number 1" in page.text
    assert states(given, ids) == ["draft", "draft"]


def test_what_the_caller_may_not_do_is_refused_for_each_row_and_recorded(app, given):
    user = given.user("editor")
    mine, theirs = given.article("draft", owner_id=user.id).id, given.article("draft", owner_id=user.id).id
    visitor = visit(app, given.user("user"))
    published = given.article("published").id
    answer = send(visitor, [f"{mine} 1", f"{theirs} 1", f"{published} 1", f"{new_id()} 1"], "delete", sure="yes")
    told = outcomes(answer)
    assert len(told) == 4 and all(one.startswith("refused") for one in told)
    # What the caller may not view is like what is not there, in its name as well.
    assert told[0] == told[1] == told[3]
    assert "Number" not in answer.text
    assert states(given, [mine, theirs, published]) == ["draft", "draft", "published"]
    app.extensions["gatepost"].audit_writer.flush(early=True)
    assert {result for _, _, result in recorded(given, [published])} == {"refused"}


def test_rows_of_another_tenant_are_not_there(admin, elsewhere):
    foreign = elsewhere.article("draft", title="Foreign title")
    answer = send(admin, [f"{foreign.id} 1"], "publish")
    assert outcomes(answer)[0].startswith("refused") and "Foreign title" not in answer.text
    assert elsewhere.found(Article, foreign.id).status == "draft"


@pytest.mark.parametrize(("rows", "do", "status"), [
    ([], "publish", 400), (["not an id"], "publish", 400), ([f"{new_id()} 1"], "explode", 400),
    ([f"{new_id()} 1"], "", 400), ([f"{new_id()} 1"], "update", 400), ([f"{new_id()} 1"] * 101, "publish", 400),
    ([f"{new_id()} 1"] * 10_000, "publish", 400), (["x" * 5000], "publish", 400),
    ([f"{new_id()} \"\r\nX: 1"], "publish", 200), ([f"{new_id()} \ud7ff\x00"], "publish", 200)])
def test_what_no_list_sends_is_refused(rows, do, status, admin, given):
    article = given.article("draft").id
    answer = send(admin, rows, do)
    assert answer.status_code == status, answer.text
    assert states(given, [article]) == ["draft"]


def test_unknown_fields_and_other_origins_are_refused(admin, given):
    row = f"{given.article('draft').id} 1"
    assert send(admin, [row], "publish", more="x").status_code == 400
    answer = admin.client.post(SEVERAL, data={"row": row, "do": "publish"}, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert admin.client.post(SEVERAL, data=b"{}", content_type="application/json",
                             headers={"Origin": "http://localhost"}).status_code == 415
    assert states(given, [row.partition(" ")[0]]) == ["draft"]


def test_all_rows_of_a_page_are_selected_by_a_link(admin, given):
    given.article("draft")
    page = admin.page(f"{LIST}?select=all")
    ticked = [tag for tag, given in page.tags if tag == "input" and given.get("name") == "row" and "checked" in given]
    assert ticked


def test_hidden_versions_are_compared_as_well(app, given):
    """A caller who may not see the version of a row sends a keyed hash of it."""
    visitor = visit(app, "admin")
    user = given.user("user", name="Ursula Upright")
    value = boxes(visitor, "/console/data/users?q=Ursula")[user.id]
    answer = visitor.client.post("/console/data/users/several", data={"row": value, "do": "disable"},
                                 headers={"Origin": "http://localhost"})
    assert outcomes(answer) == ["done"]


def test_each_row_takes_units_and_the_rest_is_not_tried(tmp_path, database_url):
    app = make_app(new_instance(tmp_path / "limited", database_url, "default"), database_url, rate_limits="on",
                   principal_units="30")
    try:
        _use_up(visit(app, "admin"), Given(app, "default"))
    finally:
        close(app)


def _use_up(admin, there):
    ids = [there.article("draft").id for _ in range(40)]
    told = outcomes(send(admin, [f"{id} 1" for id in ids], "publish"))
    done = told.count("done")
    assert 0 < done < 40
    assert sum("Not tried" in one for one in told) == 40 - done - 1
    assert [there.found(Article, id).status for id in ids].count("published") == done
