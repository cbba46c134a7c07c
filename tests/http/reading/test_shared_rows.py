"""`shared=include|exclude|only`: rows shared by others can be left out of a list, or listed alone."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from models.base import Rows
from models.tables.share import Share

pytestmark = pytest.mark.both_databases

PUSHED = 100


def ids(caller, path, **more):
    """The ids of a whole list, by cursor, and its total, which must agree."""
    query = "&".join(f"{name}={quote(str(value))}" for name, value in more.items())
    found, cursor = [], ""
    while cursor is not None:
        page = caller.get(f"{path}?fields=id&limit=40&{query}{cursor and '&cursor=' + cursor}")
        assert page.status_code == 200, page.get_data(as_text=True)
        found += [item["id"] for item in page.get_json()["items"]]
        cursor = page.get_json()["next_cursor"]
    total = caller.get(f"{path}?page=1&{query}").get_json()["total"]
    assert (len(found), len(set(found))) == (total, total)
    return set(found)


def exported(caller, path, **more):
    query = "&".join(f"{name}={quote(str(value))}" for name, value in more.items())
    answer = caller.get(f"{path}/export?fields=id&{query}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return {line.split('"')[3] for line in answer.get_data(as_text=True).splitlines()}


@pytest.fixture
def bob(as_user):
    return as_user("user", groups=["press"])


@pytest.fixture
def rows(given, bob):
    """One article for each reason to see it, and one without a reason. `since` excludes those of other tests."""
    made = {"own": given.article("draft", owner_id=bob.id), "public": given.article(), "pushed": given.article("draft"),
            "public and pushed": given.article(), "own and pushed": given.article("draft", owner_id=bob.id),
            "by group": given.article("draft"), "by role": given.article("draft"), "hidden": given.article("draft")}
    for name in ("pushed", "public and pushed", "own and pushed"):
        given.share("article", made[name], f"user:{bob.id}", "write")
    given.share("article", made["by group"], "group:press")
    given.share("article", made["by role"], "role:user", "manage")
    return made


SHARED = {"pushed", "public and pushed", "own and pushed", "by group", "by role"}
EXPECTED = {
    "include": {"own", "public"} | SHARED,
    "exclude": {"own", "public", "public and pushed", "own and pushed"},
    "only": SHARED,
}


@pytest.mark.parametrize("shared", EXPECTED)
def test_a_list_has_what_shares_add_or_leaves_it_out_or_has_nothing_else(bob, rows, shared):
    since = {"created_at__gte": min(row.created_at for row in rows.values())}
    names = {row.id: name for name, row in rows.items()}
    found = ids(bob, "/api/articles", shared=shared, **since)
    assert {names[id] for id in found if id in names} == EXPECTED[shared]
    if shared == "include":
        assert found == ids(bob, "/api/articles", **since), "it is what is answered when nothing is asked"


@pytest.mark.parametrize("shared", EXPECTED)
@pytest.mark.parametrize("sort", ["title", "-published_at", "status,-created_at"])
def test_every_order_has_the_same_rows(bob, rows, shared, sort):
    since = {"created_at__gte": min(row.created_at for row in rows.values()), "shared": shared}
    assert ids(bob, "/api/articles", sort=sort, **since) == ids(bob, "/api/articles", **since)


def test_what_the_policy_shows_whole_is_left_as_it_is_and_only_still_narrows(given, as_user):
    """An editor may view every article, so shares give them nothing."""
    editor, lent = as_user("editor"), given.article("draft")
    given.share("article", lent, f"user:{editor.id}")
    since = {"created_at__gte": given.article("draft").created_at}
    assert ids(editor, "/api/articles", shared="exclude", **since) == ids(editor, "/api/articles", **since)
    assert lent.id in ids(editor, "/api/articles", shared="exclude")
    assert ids(editor, "/api/articles", shared="only") >= {lent.id}
    assert ids(editor, "/api/articles", shared="only", **since) == set()


def test_an_export_follows(given, as_user):
    editor, lent, other = as_user("editor"), given.article("draft"), given.article("draft")
    given.share("article", lent, f"user:{editor.id}")
    mine = {"created_at__gte": lent.created_at}
    assert lent.id in exported(editor, "/api/articles", shared="only", **mine)
    assert other.id not in exported(editor, "/api/articles", shared="only", **mine)
    assert {lent.id, other.id} <= exported(editor, "/api/articles", shared="exclude", **mine)


def test_only_shows_nothing_that_may_not_be_viewed(given, as_user, under):
    zoe = as_user("user")
    zoe.client = under("", {"orders.csv": "p, user, order.view, shared, deny"}).test_client()
    lent = given.order(owner_id=zoe.id)
    given.share("order", lent, f"user:{zoe.id}")
    for shared in EXPECTED:
        assert lent.id not in ids(zoe, "/api/orders", shared=shared), "a denial of what is shared holds in each"


def test_only_is_a_list_of_a_right_that_no_line_asks_for_too(given, as_user):
    """No shipped rule reads shares of comments: the list has comments that may be viewed anyway, and no others."""
    bob, public, hidden = as_user("user"), given.comment("approved"), given.comment("pending")
    for row in (public, hidden):
        given.share("comment", row, f"user:{bob.id}", "manage")
    assert ids(bob, "/api/comments", shared="only") == {public.id}


def test_a_guest_and_a_caller_to_whom_nothing_is_shared_are_answered_an_empty_list(as_role, given):
    given.article()
    for caller in (as_role("guest"), as_role("moderator")):
        answer = caller.get("/api/pages?shared=only")
        assert (answer.status_code, answer.get_json()["items"]) == (200, [])
    assert "public" not in as_role("guest").get("/api/articles?shared=only").headers["Cache-Control"]


def test_a_cursor_belongs_to_what_was_asked(bob, given):
    for _ in range(3):
        given.share("article", given.article(), f"user:{bob.id}")
    cursor = bob.get("/api/articles?shared=only&limit=1").get_json()["next_cursor"]
    assert bob.get(f"/api/articles?shared=only&limit=1&cursor={cursor}").status_code == 200
    for query in ("", "shared=include&", "shared=exclude&"):
        answer = bob.get(f"/api/articles?{query}limit=1&cursor={cursor}")
        assert (answer.status_code, answer.get_json()["code"]) == (400, "cursor_mismatch")


@pytest.mark.parametrize("path", ["/api/articles?shared=mine", "/api/articles?shared=", "/api/articles?shared=ONLY",
                                  "/api/articles?shared=only&shared=only", "/api/articles/export?shared=no"])
def test_another_word_is_400(as_role, path):
    answer = as_role("admin").get(path)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_parameter")


@pytest.mark.parametrize("path", ["/api/audit", "/api/contact", "/api/tokens"])
def test_what_cannot_be_shared_has_no_such_parameter(as_role, path):
    answer = as_role("admin").get(f"{path}?shared=only")
    assert (answer.status_code, answer.get_json()["code"]) == (400, "unknown_parameter")


def test_a_flood_of_shares_vanishes_and_can_be_left(given, as_user):
    """An attacker shares a hundred rows, which fill the victim's first page."""
    mallory, victim = as_user("user"), as_user("user")
    mine = given.article("draft", owner_id=victim.id)
    pushed = [given.article("draft", owner_id=mallory.id) for _ in range(PUSHED)]
    for row in pushed:
        assert mallory.put(f"/api/articles/{row.id}/shares",
                           {"grantee": f"user:{victim.id}", "right": "read"}).status_code == 200
    since, flood = {"created_at__gte": mine.created_at}, {row.id for row in pushed}
    first = victim.get("/api/articles?fields=id&limit=100").get_json()["items"]
    assert {item["id"] for item in first} == flood, "nothing else is on the page"
    assert ids(victim, "/api/articles", shared="exclude", **since) == {mine.id}
    assert ids(victim, "/api/articles", shared="only", **since) == flood
    for row in pushed:
        assert victim.delete(f"/api/articles/{row.id}/shares?grantee=me").status_code == 204
    assert ids(victim, "/api/articles", **since) == {mine.id}
    with given.database.connected():
        assert Rows(Share, given.tenant_id).select().where(Share.grantee == f"user:{victim.id}").count() == 0
