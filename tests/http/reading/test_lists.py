"""Lists (docs/api/lists.md, Paging): both envelopes, sizes, conflicts, totals, links, validators."""

import re

import pytest

from gatepost.http.reading import listing
from tests.apps import NO_ROW, close, make_app, new_instance
from tests.samples import sampled

TOTAL = 7


@pytest.fixture(scope="module", autouse=True)
def posts(given):
    """Seven published articles, the oldest first, and a draft that no guest may see."""
    found = [given.article(title=f"Post {number}") for number in range(TOTAL)]
    given.article("draft", title="Hidden")
    return found


def titles(answer):
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return [row["title"] for row in answer.get_json()["items"]]


def numbers(*found):
    return [f"Post {number}" for number in found]


def refused(answer, code, parameter=None, meta=None):
    problem = answer.get_json()
    assert (answer.status_code, problem["code"]) == (400, code), problem
    if parameter is not None:
        assert [fault["parameter"] for fault in problem["errors"]] == [parameter]
    if meta is not None:
        assert problem["errors"][0]["meta"] == meta


def links(answer):
    found = re.findall(r'<([^>]*)>; rel="(\w+)"', answer.headers["Link"])
    return {relation: target for target, relation in found}


# Envelopes


def test_without_page_and_offset_the_answer_is_the_cursor_envelope(client):
    answer = client.get("/api/articles?limit=3").get_json()
    assert list(answer) == ["items", "next_cursor", "prev_cursor", "has_next", "has_prev"]
    assert (answer["has_next"], answer["has_prev"], answer["prev_cursor"]) == (True, False, None)
    assert isinstance(answer["next_cursor"], str)


def test_with_page_the_answer_is_the_page_envelope(client):
    answer = client.get("/api/articles?page=2&page_size=3").get_json()
    assert list(answer) == ["items", "page", "page_size", "total", "has_next"]
    assert (answer["page"], answer["page_size"], answer["total"], answer["has_next"]) == (2, 3, TOTAL, True)


@pytest.mark.both_databases
@pytest.mark.parametrize(("offset", "page", "shown"), [
    (0, 1, (6, 5, 4)), (1, 1, (5, 4, 3)), (2, 1, (4, 3, 2)), (3, 2, (3, 2, 1)), (5, 2, (1, 0)), (6, 3, (0,)),
])
def test_with_offset_page_says_on_which_page_it_begins(client, offset, page, shown):
    answer = client.get(f"/api/articles?offset={offset}&limit=3")
    assert titles(answer) == numbers(*shown)
    assert answer.get_json()["page"] == page


@pytest.mark.both_databases
@pytest.mark.parametrize("place", ["page=9&page_size=3", "offset=7", "offset=10000", "page=501&limit=20"])
def test_past_the_end_is_an_empty_page(client, place):
    answer = client.get(f"/api/articles?{place}").get_json()
    assert (answer["items"], answer["has_next"], answer["total"]) == ([], False, TOTAL)


@pytest.mark.both_databases
def test_a_walk_ends_with_null_cursors_on_both_sides(client):
    first = client.get("/api/articles?limit=4").get_json()
    last = client.get(f"/api/articles?limit=4&cursor={first['next_cursor']}").get_json()
    assert (last["next_cursor"], last["has_next"], last["has_prev"]) == (None, False, True)
    back = client.get(f"/api/articles?limit=4&before={last['prev_cursor']}").get_json()
    assert back["items"] == first["items"]
    assert (back["prev_cursor"], back["has_prev"], back["has_next"]) == (None, False, True)


@pytest.mark.parametrize("after", ["cursor={c}&limit=3", "after={c}&first=3", "cursor={c}&page_size=3",
                                   "after={c}&limit=3&first=3", "cursor={c}&after={c}&limit=3"])
def test_synonyms_lead_to_the_same_page(client, after):
    cursor = client.get("/api/articles?limit=3").get_json()["next_cursor"]
    assert titles(client.get(f"/api/articles?{after.format(c=cursor)}")) == numbers(3, 2, 1)


@pytest.mark.both_databases
def test_last_goes_with_before_and_keeps_the_order(client):
    cursor = client.get("/api/articles?limit=3&cursor=" + client.get("/api/articles?limit=3").get_json()["next_cursor"])
    before = client.get(f"/api/articles?last=2&before={cursor.get_json()['prev_cursor']}")
    assert titles(before) == numbers(5, 4)
    assert before.get_json()["has_prev"] is True


@pytest.mark.parametrize("query", [
    "page=1&offset=0", "page=1&cursor=x", "page=1&after=x", "page=1&before=x", "offset=0&cursor=x", "offset=1&after=x",
    "offset=0&before=x", "after=x&before=y", "cursor=x&before=y", "cursor=x&after=y", "first=2&before=x",
    "first=2&last=2&before=x", "last=2", "last=2&after=x", "last=2&page=1", "limit=2&page_size=3", "limit=2&first=3",
    "first=2&page_size=3", "last=2&limit=3&before=x", "snapshot=true&page=1", "snapshot=true&offset=0",
])
def test_parameters_that_contradict_each_other_are_a_conflict(client, query):
    refused(client.get(f"/api/articles?{query}"), "pagination_conflict")


# Ranges


@pytest.mark.parametrize("size", ["0", "-1", "101", "200", "99999999999999999999", "-99999999999999999999"])
@pytest.mark.parametrize("name", ["limit", "page_size", "first"])
def test_a_size_out_of_range_is_refused_with_the_range(client, name, size):
    refused(client.get(f"/api/articles?{name}={size}"), "invalid_parameter", name, {"min": 1, "max": 100})


@pytest.mark.parametrize(("query", "name", "meta"), [
    ("page=0", "page", {"min": 1, "max": 501}), ("page=-1", "page", {"min": 1, "max": 501}),
    ("page=0&limit=100", "page", {"min": 1, "max": 101}), ("offset=-1", "offset", {"min": 0, "max": 10_000}),
])
def test_a_place_before_the_first_row_is_refused_with_the_range(client, query, name, meta):
    refused(client.get(f"/api/articles?{query}"), "invalid_parameter", name, meta)


@pytest.mark.parametrize(("query", "name", "least", "most"), [
    ("offset=10001", "offset", 0, 10_000), ("page=502", "page", 1, 501), ("page=102&limit=100", "page", 1, 101),
    ("page=10002&limit=1", "page", 1, 10_001), ("offset=99999999999999999999999", "offset", 0, 10_000),
    ("page=" + "9" * 3000, "page", 1, 501),
])
def test_no_page_skips_more_than_ten_thousand_rows(client, query, name, least, most):
    answer = client.get(f"/api/articles?{query}")
    refused(answer, "offset_too_large", name, {"min": least, "max": most})
    assert answer.json["detail"] == f"{name} must be from {least} to {most}. Use cursors to read on."


@pytest.mark.parametrize("value", sampled([
    "", "x", "1.5", "1e2", "+1", " 1", "0x1", "%D9%A3", "1_0", "null", "true", "--1"], 3))
@pytest.mark.parametrize("name", ["limit", "page", "offset"])
def test_what_is_no_number_is_refused(client, name, value):
    refused(client.get("/api/articles", query_string=f"{name}={value}"), "invalid_parameter", name)


@pytest.mark.parametrize(("role", "most"), [
    ("guest", 100), ("user", 100), ("editor", 100), ("moderator", 100), ("manager", 100),
    ("support", 200), ("developer", 200), ("owner", 200), ("admin", 200),
])
def test_staff_may_ask_for_longer_pages(as_role, role, most):
    assert as_role(role).get(f"/api/articles?limit={most}").status_code == 200
    refused(as_role(role).get(f"/api/articles?limit={most + 1}"), "invalid_parameter", "limit",
            {"min": 1, "max": most})


def test_the_same_query_has_the_greatest_limit_of_each_caller(as_role):
    for _ in range(2):
        assert as_role("admin").get("/api/articles?limit=150").status_code == 200
        assert as_role("guest").get("/api/articles?limit=150").status_code == 400


@pytest.mark.parametrize("query", ["limit=2&limit=2", "status=published&status=draft", "sort=title&sort=title",
                                   "q=a&q=b"])
def test_a_parameter_is_sent_once(client, query):
    refused(client.get(f"/api/articles?{query}"), "invalid_parameter", query.partition("=")[0])


@pytest.mark.parametrize(("repeated", "once"), [
    ("fields=title&fields=status", "fields=title,status"),
    ("fields=title,slug&fields=status", "fields=title,slug,status"),
    ("status__in=draft&status__in=published", "status__in=draft,published"),
    ("expand=owner&fields=title&expand=category", "expand=owner,category&fields=title"),
])
def test_a_list_that_is_sent_in_parts_is_one_list(client, repeated, once):
    parts, whole = (client.get(f"/api/articles?{query}&limit=2&sort=title") for query in (repeated, once))
    assert whole.status_code == 200 and whole.get_json()["items"]
    assert parts.headers["ETag"] != "" and parts.get_json()["items"] == whole.get_json()["items"]
    following = client.get(links(parts)["next"])
    assert following.get_json()["items"] == client.get(links(whole)["next"]).get_json()["items"]
    # A cursor belongs to the question, however it is spelt.
    crossed = client.get(f"/api/articles?{once}&limit=2&sort=title&cursor={parts.get_json()['next_cursor']}")
    assert crossed.get_json()["items"] == following.get_json()["items"]


def test_each_part_of_a_list_is_checked(client):
    refused(client.get("/api/articles?fields=title&fields=colour"), "invalid_parameter", "fields")
    refused(client.get("/api/articles?fields=title&fields="), "invalid_parameter", "fields")
    refused(client.get("/api/articles?" + "&".join(["status__in=draft"] * 101)), "invalid_parameter", "status__in")


def test_one_object_has_one_tag_for_both_spellings(client):
    path = "/api/articles/" + client.get("/api/articles?limit=1").get_json()["items"][0]["id"]
    parts, whole = client.get(f"{path}?fields=title&fields=slug"), client.get(f"{path}?fields=title,slug")
    assert (parts.data, parts.headers["ETag"]) == (whole.data, whole.headers["ETag"])
    tag = {"If-None-Match": parts.headers["ETag"]}
    assert client.get(f"{path}?fields=title,slug", headers=tag).status_code == 304


@pytest.mark.parametrize(("sent", "meant"), [
    ("Limit", "limit"), ("pagesize", "page_size"), ("field", "fields"), ("title_contains", "title__contains"),
    ("created_at_gte", "created_at__gte"), ("langs", "lang"), ("cursors", "cursor"),
])
def test_a_misspelt_parameter_is_answered_with_the_near_one(client, sent, meant):
    fault = client.get(f"/api/articles?{sent}=1").get_json()["errors"][0]
    assert fault["detail"] == f"There is no parameter {sent!r} here; did you mean {meant}?"
    german = client.get(f"/api/articles?{sent}=1", headers={"Accept-Language": "de"}).get_json()["errors"][0]
    assert german["detail"] == f"Einen Parameter {sent!r} gibt es hier nicht; ist {meant} gemeint?"


def test_what_is_near_to_nothing_is_only_named(client):
    fault = client.get("/api/articles?surprise=1").get_json()["errors"][0]
    assert fault["detail"] == "There is no parameter 'surprise' here."


def test_few_suggestions_are_looked_for(client):
    query = "&".join(f"limit{letter}=1" for letter in "abcdefgh")
    told = [fault["detail"] for fault in client.get(f"/api/articles?{query}").get_json()["errors"]]
    assert len(told) == 8 and sum("did you mean limit?" in detail for detail in told) == 3


@pytest.mark.parametrize("name", ["Limit", "per_page", "status__gt", "title__regex", "tenant_id", "owner__id", "id__in",
                                  "category__slug", "page[size]", "'; DROP TABLE articles --", "%00", "q__contains"])
def test_an_unknown_parameter_is_named(client, name):
    answer = client.get("/api/articles", query_string={name: "1"})
    refused(answer, "unknown_parameter", name[:80])


# Totals


@pytest.mark.both_databases
def test_above_the_bound_the_total_is_an_estimate(client, monkeypatch):
    monkeypatch.setattr(listing, "EXACT_UP_TO", TOTAL - 1)
    answer = client.get("/api/articles?page=1").get_json()
    assert answer["total"] is None
    assert answer["total_estimate"] >= TOTAL - 1
    monkeypatch.setattr(listing, "EXACT_UP_TO", TOTAL)
    assert client.get("/api/articles?page=1").get_json()["total"] == TOTAL


@pytest.mark.both_databases
@pytest.mark.parametrize("prefer", ["count=exact", "Count=Exact", 'count="exact"', "respond-async, count=exact",
                                    "count=exact; strict=yes", "count=exact, count=none"])
def test_a_client_that_prefers_it_gets_the_exact_total(client, monkeypatch, prefer):
    monkeypatch.setattr(listing, "EXACT_UP_TO", 2)
    answer = client.get("/api/articles?page=1", headers={"Prefer": prefer})
    assert answer.get_json()["total"] == TOTAL
    assert answer.headers["Preference-Applied"] == "count=exact"


def test_a_client_that_wants_no_total_gets_none(client):
    answer = client.get("/api/articles?page=1", headers={"Prefer": "count=none"})
    assert "total" not in answer.get_json()
    assert "total_estimate" not in answer.get_json()
    assert answer.headers["Preference-Applied"] == "count=none"


@pytest.mark.parametrize("prefer", ["", "count", "count=", "count=planned", "exact", ";;=,", "count=none2"])
def test_a_preference_that_we_do_not_know_is_ignored(client, prefer):
    answer = client.get("/api/articles?page=1", headers={"Prefer": prefer})
    assert answer.get_json()["total"] == TOTAL
    assert "Preference-Applied" not in answer.headers


def test_a_page_with_a_total_varies_with_the_preference(client):
    assert "Prefer" in client.get("/api/articles?page=1").headers["Vary"]


# Links


@pytest.mark.both_databases
@pytest.mark.parametrize("prefix", ["/api", "/api/v1"])
@pytest.mark.parametrize("query", ["limit=2", "first=2", "page_size=2", "page=1&limit=2", "offset=0&page_size=2",
                                   "first=2&sort=title", "limit=2&fields=id,title&title__contains=post%20",
                                   "limit=2&status=published&snapshot=true&expand=owner"])
def test_links_lead_through_the_whole_list_and_back(client, prefix, query):
    start = client.get(f"{prefix}/articles?{query}")
    pages = [titles(start)]
    answer = start
    while (target := links(answer).get("next")) is not None:
        assert target.startswith(f"{prefix}/articles?")
        answer = client.get(target)
        pages.append(titles(answer))
    forward = numbers(*range(TOTAL)) if "sort=title" in query else numbers(*reversed(range(TOTAL)))
    assert [title for page in pages for title in page] == forward
    assert titles(client.get(links(answer)["first"])) == pages[0]
    while (target := links(answer).get("prev")) is not None:
        answer = client.get(target)
        pages.pop()
        assert titles(answer) == pages[-1]
    assert len(pages) == 1


def test_links_of_a_page_before_lead_on_in_both_directions(client):
    second = client.get(links(client.get("/api/articles?first=2"))["next"])
    third = client.get(links(second)["next"])
    before = client.get(f"/api/articles?last=2&before={third.get_json()['prev_cursor']}")
    assert titles(client.get(links(before)["next"])) == titles(third)
    assert titles(client.get(links(before)["prev"])) == numbers(6, 5)
    assert titles(client.get(links(before)["first"])) == numbers(6, 5)


def test_links_by_offset_go_on_from_where_the_page_ended(client):
    answer = client.get("/api/articles?offset=1&limit=3")
    assert titles(client.get(links(answer)["next"])) == numbers(2, 1, 0)
    assert titles(client.get(links(answer)["prev"])) == numbers(6, 5, 4)


def test_no_link_leads_beyond_what_may_be_skipped(client, monkeypatch):
    monkeypatch.setattr(listing, "MAX_OFFSET", 3)
    assert "next" in links(client.get("/api/articles?offset=1&limit=2"))
    assert "next" not in links(client.get("/api/articles?offset=2&limit=2"))


# Caching


def test_a_page_that_has_not_changed_is_not_sent_again(client, as_role):
    for caller in (as_role("guest"), as_role("user")):
        for query in ("limit=2", "page=1", "fields=id", "expand=owner"):
            first = caller.get(f"/api/articles?{query}")
            again = caller.get(f"/api/articles?{query}", headers={"If-None-Match": first.headers["ETag"]})
            assert (again.status_code, again.data) == (304, b"")
            assert again.headers["ETag"] == first.headers["ETag"]
            assert again.headers["Cache-Control"] == first.headers["Cache-Control"]


def test_a_page_that_has_changed_has_another_tag(client, given):
    before = client.get("/api/categories").headers["ETag"]
    given.category()
    answer = client.get("/api/categories", headers={"If-None-Match": before})
    assert answer.status_code == 200
    assert answer.headers["ETag"] != before


@pytest.mark.parametrize(("path", "kept"), [
    ("/api/articles", "public, max-age=10"),
    ("/api/articles?page=1", "public, max-age=10"),
    ("/api/articles?expand=category", "public, max-age=10"),
    ("/api/articles?fields=id,allowed_actions", "private, no-cache"),
])
def test_only_what_every_guest_sees_alike_may_be_shared(client, path, kept):
    assert client.get(path).headers["Cache-Control"] == kept


def test_with_credentials_nothing_is_shared(as_role):
    answer = as_role("user").get("/api/articles")
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert "Authorization" in answer.headers["Vary"]


def test_a_guest_page_tells_caches_that_credentials_matter(client):
    assert "Authorization" in client.get("/api/articles").headers["Vary"]


def test_head_is_get_without_the_body(client):
    got, asked = client.get("/api/articles?page=1"), client.head("/api/articles?page=1")
    assert (asked.status_code, asked.data) == (200, b"")
    for name in ("ETag", "Link", "Cache-Control", "Vary", "Content-Type", "Content-Length"):
        assert asked.headers[name] == got.headers[name]


# Which rows


def test_the_list_is_what_the_caller_may_see(as_role):
    assert "Hidden" not in titles(as_role("guest").get("/api/articles"))
    assert "Hidden" not in titles(as_role("user").get("/api/articles"))
    assert "Hidden" in titles(as_role("editor").get("/api/articles"))


def test_another_tenant_sees_none_of_it(as_role):
    assert titles(as_role("admin", tenant="other").get("/api/articles")) == []


def test_a_caller_without_permission_to_list_is_refused(as_role):
    assert as_role("guest").get("/api/orders").status_code == 401
    assert as_role("editor").get("/api/contact").status_code == 403


@pytest.mark.both_databases
@pytest.mark.parametrize("sort", ["created_at", "-created_at", "title", "-title", "published_at", "-published_at"])
def test_a_sort_and_its_reverse_are_each_other_backwards(client, sort):
    shown = titles(client.get(f"/api/articles?sort={sort}"))
    assert shown == numbers(*(reversed(range(TOTAL)) if sort.startswith("-") else range(TOTAL)))


@pytest.mark.parametrize("sort", ["", "id", "body", "tenant_id", "title,created_at", "-", "title ", "title;", "(title)",
                                  "title desc", "owner__name", "1", "--title", "password_hash"])
def test_a_sort_that_is_not_declared_is_refused(client, sort):
    refused(client.get("/api/articles", query_string={"sort": sort}), "invalid_parameter", "sort")


@pytest.mark.parametrize("fields", ["", "nothing", "id,", "id;title", "password_hash", "*", "owner.name", "id,,title"])
def test_a_field_that_does_not_exist_is_refused(client, fields):
    refused(client.get("/api/articles", query_string={"fields": fields}), "invalid_parameter", "fields")


def test_fields_are_answered_once_each_and_nothing_else(client, posts):
    rows = client.get("/api/articles?fields=title,id,title").get_json()["items"]
    assert {tuple(row) for row in rows} == {("id", "title")}
    item = client.get(f"/api/articles/{posts[0].id}?fields=status").get_json()
    assert item == {"status": "published"}


def test_allowed_actions_come_only_when_they_are_named(as_role, posts):
    assert "allowed_actions" not in as_role("editor").get("/api/articles").get_json()["items"][0]
    row = as_role("editor").get("/api/articles?fields=id,allowed_actions&title=Post 3").get_json()["items"][0]
    assert row == {"id": posts[3].id, "allowed_actions": ["update", "delete", "share", "archive"]}


def test_an_owner_that_does_not_exist_has_no_rows(client):
    assert titles(client.get(f"/api/articles?owner_id={NO_ROW}")) == []


def test_a_page_that_depends_on_the_hour_is_not_shared(tmp_path, database_url):
    folder = new_instance(tmp_path / "instance", database_url, "default")
    rules = folder / "policies" / "products.csv"
    lines = rules.read_text().splitlines()
    rules.write_text("\n".join([*lines[:-1], "p, guest, product.view, office_hours, allow", lines[-1]]) + "\n")
    app = make_app(folder, database_url)
    try:
        guest = app.test_client()
        assert guest.get("/api/products").headers["Cache-Control"] == "private, no-cache"
        assert guest.get("/api/articles").headers["Cache-Control"] == "public, max-age=10"
    finally:
        close(app)
