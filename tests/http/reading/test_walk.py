"""Walks over HTTP, compared with a simple model.

For any order, size, filter and caller, every visible row comes exactly once, in the reference order, in both
directions."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from models.base import Rows, later, new_id
from models.tables.article import Article
from models.tables.share import Share
from tests.samples import sampled

pytestmark = pytest.mark.both_databases

START = "2026-01-01T00:00:00.000000Z"
SORTS = ("created_at", "updated_at", "title", "published_at", "status,-created_at")
FILTERS: dict[str, Any] = {
    "": lambda row: True,
    "status=published": lambda row: row["status"] == "published",
    "status__in=draft,archived": lambda row: row["status"] in ("draft", "archived"),
    "status__ne=draft": lambda row: row["status"] != "draft",
    "title__startswith=b": lambda row: row["title"].startswith("b"),
    "title__contains=A": lambda row: "a" in row["title"],
    "published_at__isnull=true": lambda row: row["published_at"] is None,
    f"created_at__gte={later(2, START)}": lambda row: row["created_at"] >= later(2, START),
    "q=word": lambda row: row["body"] == "word",
}
MINE, THEIRS, SHARED = "mine", "theirs", "shared"
REASONS: dict[str, Any] = {
    "guest": lambda row: row["status"] == "published",
    "user": lambda row: row["status"] == "published" or row["whose"] in (MINE, SHARED),
    "editor": lambda row: True,
}

few = settings(max_examples=50, deadline=None)
moments = st.integers(0, 4).map(lambda seconds: later(seconds, START))
tables = st.lists(st.fixed_dictionaries({
    "created_at": moments, "updated_at": moments, "published_at": st.none() | moments,
    "title": st.sampled_from(["a", "b", "ba", "c"]), "body": st.sampled_from(["word", "other"]),
    "status": st.sampled_from(["published", "published", "draft", "archived"]),
    "whose": st.sampled_from([MINE, THEIRS, THEIRS, SHARED]),
}), max_size=14)


@dataclass(frozen=True)
class Case:
    """One walk: the caller, the order, the page's size and a filter."""

    who: str
    sort: str
    size: int
    filter: str

    def path(self, more: str = "") -> str:
        return "/api/articles?" + "&".join(
            part for part in (f"limit={self.size}", f"sort={self.sort}", "fields=id", self.filter, more) if part)

    def reference(self, rows):
        """The ids that the caller may see, in order: the id in the direction of the last key, NULLs last."""
        seen = [row for row in rows if REASONS[self.who](row) and FILTERS[self.filter](row)]
        keys = [(key.removeprefix("-"), key.startswith("-")) for key in self.sort.split(",")]
        for name, descending in reversed([*keys, ("id", keys[-1][1])]):
            seen.sort(key=lambda row, name=name: row[name] or "", reverse=descending)
            seen.sort(key=lambda row, name=name: row[name] is None)
        return [row["id"] for row in seen]


def reverse(sort):
    return ",".join(key.removeprefix("-") if key.startswith("-") else f"-{key}" for key in sort.split(","))


cases = st.builds(Case, who=st.sampled_from(list(REASONS)), size=st.integers(1, 6),
                  filter=st.sampled_from(list(FILTERS)),
                  sort=st.sampled_from([*SORTS, *map(reverse, SORTS)]))


@pytest.fixture(scope="module")
def callers(as_user, as_role, given):
    return {"guest": as_role("guest"), "user": as_user("user"), "editor": as_role("editor"), "other": given.user()}


@pytest.fixture(scope="module")
def fill(given, callers):
    """Replace all articles by these; the rows get their ids."""
    me, other = callers["user"].id, callers["other"].id

    def add(row):
        row.setdefault("id", new_id())
        values = {name: value for name, value in row.items() if name != "whose"}
        owner = me if row["whose"] == MINE else other
        Rows(Article, given.tenant_id).insert(Article(slug=row["id"], owner_id=owner, **values))
        if row["whose"] == SHARED:
            Rows(Share, given.tenant_id).insert(
                Share(resource="article", object_id=row["id"], grantee=f"user:{me}", right="read"))

    def remove(row):
        Rows(Article, given.tenant_id).remove(id=row["id"])
        Rows(Share, given.tenant_id).remove(object_id=row["id"])

    def replace(rows):
        def work():
            Rows(Article, given.tenant_id).remove()
            Rows(Share, given.tenant_id).remove()
            for row in rows:
                add(row)

        given.database.transact(work)

    replace.add = lambda row: given.database.transact(lambda: add(row))
    replace.remove = lambda row: given.database.transact(lambda: remove(row))
    return replace


def page(caller, path):
    answer = caller.get(path)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    found = answer.get_json()
    assert found["has_next"] == (found["next_cursor"] is not None)
    assert found["has_prev"] == (found["prev_cursor"] is not None)
    return found


def ids(found):
    return [row["id"] for row in found["items"]]


@pytest.mark.parametrize("who", sampled(REASONS, 2))
@few
@for_all(rows=tables, case=cases)
def test_a_walk_to_the_end_and_back_is_the_reference(fill, callers, who, rows, case):
    case = Case(who, case.sort, case.size, case.filter)
    fill(rows)
    expected, caller = case.reference(rows), callers[who]
    pages = [page(caller, case.path())]
    while pages[-1]["has_next"]:
        pages.append(page(caller, case.path(f"cursor={pages[-1]['next_cursor']}")))
    assert [id for found in pages for id in ids(found)] == expected
    assert [len(found["items"]) for found in pages[:-1]] == [case.size] * (len(pages) - 1)
    seen, back = ids(pages[-1]), pages[-1]
    while back["has_prev"]:
        back = page(caller, case.path(f"before={back['prev_cursor']}"))
        seen = ids(back) + seen
    assert seen == expected


@few
@for_all(rows=tables, case=cases, chance=st.data())
def test_a_page_by_number_is_that_slice_of_the_reference(fill, callers, rows, case, chance):
    fill(rows)
    expected = case.reference(rows)
    offset = chance.draw(st.integers(0, len(expected) + 2))
    found = callers[case.who].get(case.path(f"offset={offset}")).get_json()
    assert ids(found) == expected[offset:offset + case.size]
    assert (found["total"], found["page"]) == (len(expected), offset // case.size + 1)
    assert found["has_next"] == (len(expected) > offset + case.size)


@few
@for_all(rows=tables, case=cases, back=st.booleans(), chance=st.data())
def test_rows_that_are_there_throughout_come_exactly_once(fill, callers, rows, case, back, chance):
    for row in rows:
        row["id"] = new_id()
    present = chance.draw(st.lists(st.sampled_from(rows), unique_by=lambda row: row["id"])) if rows else []
    fill(present)
    caller, touched, seen = callers[case.who], set(), []
    found = page(caller, case.path())
    if back:  # the way back begins at the end
        while found["has_next"]:
            found = page(caller, case.path(f"cursor={found['next_cursor']}"))
    while True:
        seen = ids(found) + seen if back else seen + ids(found)
        if not found["has_prev" if back else "has_next"]:
            break
        for row in chance.draw(st.lists(st.sampled_from(rows), max_size=2)):
            touched.add(row["id"])
            if row in present:
                present.remove(row)
                fill.remove(row)
            else:
                present.append(row)
                fill.add(row)
        found = page(caller, case.path(f"before={found['prev_cursor']}" if back else f"cursor={found['next_cursor']}"))
    expected = [id for id in case.reference(present) if id not in touched]
    assert [id for id in seen if id not in touched] == expected
    assert len(set(seen) - touched) == len([id for id in seen if id not in touched])


@pytest.mark.parametrize("sort", ["created_at", "-created_at", "title", "status,-created_at"])
def test_a_page_that_has_become_empty_offers_the_way_back_or_on(as_role, given, sort):
    admin, category = as_role("admin"), given.category()
    for _ in range(3):
        given.article(category_id=category.id)
    path = f"/api/articles?category_id={category.id}&sort={sort}&limit=1"

    def page(query=""):
        found = admin.get(path + query)
        return found.get_json(), found.headers["Link"]

    ids, first = [], page()[0]
    found = first
    while True:
        ids += [one["id"] for one in found["items"]]
        if not found["has_next"]:
            break
        after, found = found["next_cursor"], page(f"&after={found['next_cursor']}")[0]
    before = found["prev_cursor"]
    assert admin.delete(f"/api/articles/{ids[2]}").status_code == 204
    empty, link = page(f"&after={after}")
    assert (empty["items"], empty["has_next"], empty["next_cursor"], empty["has_prev"]) == ([], False, None, True)
    assert f"before={empty['prev_cursor']}" in link and 'rel="prev"' in link
    assert [one["id"] for one in page(f"&before={empty['prev_cursor']}")[0]["items"]] == [ids[1]]

    assert admin.delete(f"/api/articles/{ids[0]}").status_code == 204
    last = page(f"&before={before}")[0]
    assert [one["id"] for one in last["items"]] == [ids[1]] and not last["has_prev"]
    start = page(f"&after={first['next_cursor']}")[0]["prev_cursor"]
    empty, link = page(f"&before={start}")
    assert (empty["items"], empty["has_prev"], empty["prev_cursor"], empty["has_next"]) == ([], False, None, True)
    assert f"cursor={empty['next_cursor']}" in link
    assert [one["id"] for one in page(f"&cursor={empty['next_cursor']}")[0]["items"]] == [ids[1]]

    assert admin.delete(f"/api/articles/{ids[1]}").status_code == 204
    for query in (f"&after={after}", f"&before={start}"):
        assert page(query)[0] == {"items": [], "next_cursor": None, "prev_cursor": None, "has_next": False,
                                  "has_prev": False}
