"""Shares of one object: permitted callers, grantees, the meaning of each right, and its immediate end."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.apps import NO_ROW, Caller
from tests.samples import sampled

RIGHTS = ("read", "write", "delete", "manage")
# verb → the rights that give it (docs/api/shares.md, Rights)
GIVEN_BY = {"view": RIGHTS, "update": ("write", "manage"), "delete": ("delete", "manage"), "share": ("manage",)}


def shares(row, collection="articles"):
    return f"/api/{collection}/{row.id}/shares"


def unshare(caller, row, grantee, collection="articles"):
    return caller.delete(f"{shares(row, collection)}?grantee={quote(grantee)}")


def granted(caller, row, collection="articles"):
    return [(one["grantee"], one["right"]) for one in caller.get(shares(row, collection)).get_json()["items"]]


def listed(caller, row, collection="articles"):
    """True if a list has the row. Checks that the count agrees."""
    page = caller.get(f"/api/{collection}?created_at__gte={quote(row.created_at)}&page=1&page_size=100").get_json()
    assert page["total"] == len(page["items"])
    return row.id in [item["id"] for item in page["items"]]


@pytest.fixture
def ann(as_user):
    return as_user("user")


@pytest.fixture
def bob(as_user):
    return as_user("user", groups=["press"])


@pytest.fixture
def draft(ann, given):
    return given.article("draft", owner_id=ann.id)


# The endpoints

def test_a_share_is_made_changed_listed_and_withdrawn(ann, bob, draft):
    grantee = f"user:{bob.id}"
    made = ann.put(shares(draft), {"grantee": grantee, "right": "read"})
    assert made.status_code == 200
    [item] = made.get_json()["items"]
    assert item == {"grantee": grantee, "right": "read", "granted_by": None, "created_at": item["created_at"]}
    changed = ann.put(shares(draft), {"grantee": grantee, "right": "manage"})
    assert changed.get_json()["items"] == [{**item, "right": "manage"}], "one grantee has one right"
    assert ann.get(shares(draft)).get_json() == changed.get_json()
    assert unshare(ann, draft, grantee).status_code == 204
    assert granted(ann, draft) == []
    assert unshare(ann, draft, grantee).status_code == 404


@pytest.mark.both_databases
def test_a_share_that_is_made_twice_is_one(ann, bob, draft):
    for _ in range(2):
        assert ann.put(shares(draft), {"grantee": f"user:{bob.id}", "right": "read"}).status_code == 200
    assert granted(ann, draft) == [(f"user:{bob.id}", "read")]


@pytest.mark.parametrize("body", [
    {}, {"grantee": "role:user"}, {"right": "read"}, {"grantee": "role:user", "right": "own"},
    {"grantee": "role:user", "right": ["read"]}, {"grantee": "role:user", "right": "READ"},
    {"grantee": "role:user", "right": "read", "tenant_id": NO_ROW}, [], "role:user",
])
def test_a_body_that_is_no_share_is_400(as_role, draft, body):
    assert as_role("editor").put(shares(draft), body).status_code == 400


@pytest.mark.parametrize("grantee", sampled([
    "", "*", "guest", "user:", "user:7", "user:*", "user:%", "user:" + NO_ROW.upper(), f"user:{NO_ROW} ",
    "role:", "role:*", "role:nobody", "role:Admin", "role: user", "role:user ", "role:uѕer", "role:ＵＳＥＲ",
    "role:user\x00", "role:user\nrole:admin", "role:user,role:admin", "role:'; DROP TABLE shares; --",
    "group:", "group: ", "group:press ", "group:\x00", "group:\u2028", "GROUP:press", "group:" + "g" * 200,
    "tenant:other", 7, None, ["role:user"], {"role": "user"},
], 3))
def test_a_grantee_that_names_no_user_group_or_role_is_400(as_role, draft, grantee):
    editor = as_role("editor")
    answer = editor.put(shares(draft), {"grantee": grantee, "right": "read"})
    assert answer.status_code == 400
    assert granted(editor, draft) == []


def test_a_caller_cannot_share_with_a_user_whom_they_cannot_see(ann, draft, elsewhere):
    stranger = elsewhere.user("user")
    answers = [ann.put(shares(draft), {"grantee": f"user:{id}", "right": "read"}) for id in (stranger.id, NO_ROW)]
    assert [answer.get_json()["code"] for answer in answers] == ["invalid_reference"] * 2
    assert answers[0].get_json()["errors"] == answers[1].get_json()["errors"]


@pytest.mark.parametrize("grantee", ["group:press", "role:user"])
def test_groups_and_roles_are_many_people_and_need_manage(ann, as_role, draft, grantee):
    refused = ann.put(shares(draft), {"grantee": grantee, "right": "read"})
    assert (refused.status_code, refused.get_json()["code"]) == (403, "forbidden")
    assert as_role("editor").put(shares(draft), {"grantee": grantee, "right": "read"}).status_code == 200
    assert unshare(ann, draft, grantee).status_code == 204, "a caller who may share may also stop it"


def test_shares_are_403_without_the_permission_to_share_and_404_without_the_one_to_view(bob, draft, given, as_role):
    assert bob.get(shares(draft)).status_code == 404
    assert bob.put(shares(draft), {"grantee": f"user:{bob.id}", "right": "read"}).status_code == 404
    assert unshare(bob, draft, f"user:{bob.id}").status_code == 404
    published = given.article("published")
    for role, status in (("guest", 401), ("user", 403)):
        assert as_role(role).get(shares(published)).status_code == status
        assert as_role(role).put(shares(published), {"grantee": "role:user", "right": "read"}).status_code == status


# What a right gives

@pytest.mark.parametrize("right", RIGHTS)
@pytest.mark.parametrize(("resource", "collection", "change"), [
    ("product", "products", {"name": "Another name"}), ("article", "articles", {"title": "Another title"}),
])
def test_each_right_gives_its_verbs_and_no_other(given, bob, resource, collection, change, right):
    row = getattr(given, resource)("draft")
    path = f"/api/{collection}/{row.id}"
    assert bob.get(path).status_code == 404 and not listed(bob, row, collection)
    given.share(resource, row, f"user:{bob.id}", right)
    assert bob.get(path).status_code == 200 and listed(bob, row, collection)
    allowed = {"update", "delete", "share"} & {verb for verb, rights in GIVEN_BY.items() if right in rights}
    assert set(bob.get(f"{path}?fields=allowed_actions").get_json()["allowed_actions"]) == allowed
    assert bob.get(f"{path}/shares").status_code == (200 if "share" in allowed else 403)
    assert bob.patch(path, change).status_code == (200 if "update" in allowed else 403)
    assert bob.delete(path).status_code == (204 if "delete" in allowed else 403)


def test_a_shared_article_is_changed_while_it_is_a_draft_and_only_read_afterwards(given, bob):
    article = given.article("in_review")
    given.share("article", article, f"user:{bob.id}", "manage")
    path = f"/api/articles/{article.id}"
    assert bob.get(path).status_code == 200
    assert bob.patch(path, {"title": "Rewritten"}).status_code == 403
    assert bob.delete(path).status_code == 403
    assert bob.get(f"{path}/shares").status_code == 200


def test_a_right_to_one_object_is_none_to_another_nor_to_another_resource(given, bob):
    shared, other = given.article("draft"), given.article("draft")
    given.share("article", shared, f"user:{bob.id}", "manage")
    given.share("product", other, f"user:{bob.id}", "manage")  # an id that is an article's
    assert bob.get(f"/api/articles/{other.id}").status_code == 404
    assert not listed(bob, other) and listed(bob, shared)


@pytest.mark.parametrize(("grantee", "opens"), [
    ("role:user", {"user", "support", "moderator", "manager"}), ("role:support", {"support"}),
    ("role:guest", set()), ("guest", set()), ("group:press", {"bob"}),
    ("group:Press", set()), ("group:pres", set()), ("group:press%", set()),
])
def test_a_share_opens_to_the_grantee_and_to_every_role_that_inherits(given, as_role, as_user, grantee, opens):
    order = given.order()
    given.share("order", order, grantee)
    callers = {role: as_role(role) for role in ("guest", "user", "moderator")} | {
        "bob": as_user("user", groups=["sales", "press"])}
    for name, caller in callers.items():
        expected = name in opens or (name == "bob" and "user" in opens)
        status = 200 if expected else 401 if name == "guest" else 404
        assert caller.get(f"/api/orders/{order.id}").status_code == status, name
        if name != "guest":
            assert listed(caller, order, "orders") is expected, name


@pytest.mark.both_databases
def test_a_user_with_two_ways_to_an_object_finds_it_once_and_counts_it_once(given, as_user):
    bob = as_user("user", groups=["a", "b"])
    order = given.order(owner_id=bob.id)
    for grantee in ("group:a", "group:b", "role:user", "role:guest", f"user:{bob.id}"):
        given.share("order", order, grantee, "manage")
    page = bob.get(f"/api/orders?created_at__gte={quote(order.created_at)}&page=1").get_json()
    assert ([item["id"] for item in page["items"]], page["total"]) == ([order.id], 1)


@pytest.mark.both_databases
def test_a_list_through_shares_is_walked_without_gap_or_repetition(given, as_user):
    bob = as_user("user")
    rows = [given.order(owner_id=bob.id if number % 3 == 0 else None) for number in range(12)]
    for row in rows[::2]:
        given.share("order", row, f"user:{bob.id}")
    expected = [row.id for number, row in enumerate(rows) if number % 3 == 0 or number % 2 == 0]
    path, found = f"/api/orders?sort=created_at&limit=3&created_at__gte={quote(rows[0].created_at)}", []
    cursor = ""
    while cursor is not None:
        page = bob.get(path + (f"&cursor={cursor}" if cursor else "")).get_json()
        found += [item["id"] for item in page["items"] if item["owner_id"] in (bob.id, None)]
        cursor = page["next_cursor"]
    assert [id for id in found if id in {row.id for row in rows}] == expected


def test_a_grantee_with_manage_shares_further_and_only_with_single_users(given, as_user, draft, bob):
    given.share("article", draft, f"user:{bob.id}", "manage")
    cy = as_user("user")
    assert bob.put(shares(draft), {"grantee": f"user:{cy.id}", "right": "read"}).status_code == 200
    assert cy.get(f"/api/articles/{draft.id}").status_code == 200
    assert bob.put(shares(draft), {"grantee": "role:user", "right": "read"}).status_code == 403


def test_a_token_reaches_what_is_shared_as_far_as_its_scopes_go(given, as_user, draft):
    bob = as_user("user")
    given.share("article", draft, f"user:{bob.id}", "manage")
    reading = as_user(bob.user, scope="read:articles")
    assert reading.get(f"/api/articles/{draft.id}").status_code == 200 and listed(reading, draft)
    refused = reading.patch(f"/api/articles/{draft.id}", {"title": "Rewritten"})
    assert (refused.status_code, refused.get_json()["code"]) == (403, "insufficient_scope")
    assert as_user(bob.user, scope="read:products").get(f"/api/articles/{draft.id}").status_code == 403


# How it ends

def test_what_is_withdrawn_is_closed_on_the_next_request(ann, bob, draft):
    ann.put(shares(draft), {"grantee": f"user:{bob.id}", "right": "write"})
    assert bob.patch(f"/api/articles/{draft.id}", {"title": "With leave"}).status_code == 200
    ann.put(shares(draft), {"grantee": f"user:{bob.id}", "right": "read"})
    assert bob.patch(f"/api/articles/{draft.id}", {"title": "Without"}).status_code == 403
    unshare(ann, draft, f"user:{bob.id}")
    assert bob.get(f"/api/articles/{draft.id}").status_code == 404
    assert not listed(bob, draft)


def test_a_user_who_leaves_a_group_loses_what_was_shared_with_it(given, as_role, bob, draft):
    given.share("article", draft, "group:press")
    assert bob.get(f"/api/articles/{draft.id}").status_code == 200
    assert as_role("owner").patch(f"/api/users/{bob.id}", {"groups": ["sales"]}).status_code == 200
    assert bob.get(f"/api/articles/{draft.id}").status_code == 404


@pytest.mark.both_databases
def test_the_shares_of_a_deleted_object_are_gone(ann, bob, draft, given, app):
    from models.base import Rows
    from models.tables.share import Share

    ann.put(shares(draft), {"grantee": f"user:{bob.id}", "right": "read"})
    assert ann.delete(f"/api/articles/{draft.id}").status_code == 204
    with given.database.connected():
        assert Rows(Share, given.tenant_id).select().where(Share.object_id == draft.id).count() == 0
    assert ann.get(shares(draft)).status_code == 404


def test_nothing_is_shared_into_another_tenant(given, elsewhere, as_user, as_role, draft):
    stranger = as_user("user", tenant="other", groups=["press"])
    for home in (given, elsewhere):
        for grantee in (f"user:{stranger.id}", "group:press", "role:user"):
            home.share("article", draft, grantee, "manage")
    assert stranger.get(f"/api/articles/{draft.id}").status_code == 404
    assert not listed(stranger, draft)
    administrator = as_role("admin", tenant="other")
    assert administrator.get(shares(draft)).status_code == 404
    assert administrator.put(shares(draft), {"grantee": f"user:{stranger.id}", "right": "read"}).status_code == 404


# Rules that are not in the shipped files

@pytest.fixture(scope="module")
def open_to_shares(under):
    """An app whose rules give guests shared objects. Nothing can be shared with a guest."""
    return under("", {"articles.csv": "p, guest, article.view, shared, allow\np, guest, article.update, shared, allow\n"
                                      "p, guest, article.archive, shared, deny"})


@pytest.mark.both_databases
@pytest.mark.parametrize("grantee", ["role:guest", "guest"])
def test_a_stored_share_with_guests_gives_nothing_and_every_question_says_so(
    grantee, given, as_user, open_to_shares
):
    def on(caller):
        caller.client = open_to_shares.test_client()
        return caller

    guest, ann, owner = Caller(open_to_shares.test_client()), on(as_user("user")), on(as_user("owner"))
    draft = given.article("draft")
    given.share("article", draft, grantee, "manage")
    path = f"/api/articles/{draft.id}"
    for caller, refused in ((guest, 401), (ann, 404)):
        assert caller.get(path).status_code == 404
        assert caller.patch(path, {"title": "Mine"}).status_code == refused
        assert not listed(caller, draft)
    assert draft.id not in ann.get("/api/articles?shared=only&page_size=100").text
    for verb in ("view", "update"):
        page = owner.get(f"/api/admin/policy/who?permission=article.{verb}&id={draft.id}").get_json()
        assert ann.id not in [one["user"] and one["user"]["id"] for one in page["items"]]
        assert None not in [one["user"] for one in page["items"]]
        for who, subject in (("guest", "guest"), (ann.id, ann.id)):
            found = owner.get(f"/api/admin/policy/explain?as={who}&permission=article.{verb}&id={draft.id}").get_json()
            assert (found["verdict"], found["policy_verdict"]) == ("refused", "refused")
            asked = {"subject": {"type": "user", "id": subject}, "action": {"name": verb},
                     "resource": {"type": "article", "id": draft.id}}
            assert owner.post("/access/v1/evaluation", asked).get_json() == {"decision": False}
            assert draft.id not in owner.post("/access/v1/search/resource", {
                **asked, "resource": {"type": "article"}}).text
    # A deny rule for objects shared with guests would not apply either.
    assert owner.get(f"/api/admin/policy/explain?as={owner.id}&permission=article.archive&id={draft.id}").get_json()[
        "policy_verdict"] == "allowed"
    # The share can be listed and withdrawn, but not changed.
    assert granted(owner, draft) == [(grantee, "manage")]
    if grantee == "role:guest":
        assert owner.put(shares(draft), {"grantee": grantee, "right": "read"}).status_code == 400
        assert unshare(owner, draft, grantee).status_code == 204


@pytest.mark.parametrize("role", ["editor", "owner", "admin"])
def test_nobody_shares_with_guests(as_role, draft, role):
    answer = as_role(role).put(shares(draft), {"grantee": "role:guest", "right": "read"})
    assert answer.status_code == 400
    assert [(one["code"], one["pointer"]) for one in answer.get_json()["errors"]] == [("invalid_reference", "/grantee")]
    assert granted(as_role("editor"), draft) == []


def test_a_role_that_a_line_lends_to_one_person_counts_for_shares_too(given, as_user, under):
    zoe = as_user("user")
    zoe.client = under("", {"roles.csv": f"g, user:{zoe.id}, moderator"}).test_client()
    order = given.order()
    given.share("order", order, "role:moderator")
    assert zoe.get(f"/api/orders/{order.id}").status_code == 200 and listed(zoe, order, "orders")


def test_a_denial_of_what_is_shared_wins_one_by_one_and_in_lists(given, as_user, under):
    bob = as_user("user")
    bob.client = under("", {"orders.csv": "p, user, order.view, shared, deny"}).test_client()
    mine, lent = given.order(owner_id=bob.id), given.order(owner_id=bob.id)
    given.share("order", lent, f"user:{bob.id}")
    assert bob.get(f"/api/orders/{mine.id}").status_code == 200 and listed(bob, mine, "orders")
    assert bob.get(f"/api/orders/{lent.id}").status_code == 404 and not listed(bob, lent, "orders")
