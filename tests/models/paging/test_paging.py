"""Pages never skip or repeat a row: every list, walked in both directions, equals a simple reference."""

from dataclasses import replace
from functools import partial
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.engine.database import Database
from models.paging import Key, Page, count, estimate, skip, sort_order, walk
from tests.models.paging.notes import ME, ORDERS, TENANT, TIMES, VALUES, Case, Note, cases, create_table, fill, tables
from tests.samples import sampled

pytestmark = pytest.mark.both_databases

sizes = st.integers(1, 7)
many = settings(max_examples=40)
few = settings(max_examples=8)  # of each order


@pytest.fixture(scope="module", autouse=True)
def table(opened: Database) -> None:
    with opened.connected():
        create_table(opened)


def forward(database: Database, case: Case, size: int) -> list[Page]:
    pages = [walk(database, case.shape, VALUES, size=size)]
    while pages[-1].has_next:
        pages.append(walk(database, case.shape, VALUES, size=size, position=pages[-1].last))
    return pages


def backward(database: Database, case: Case, size: int) -> list[Page]:
    pages = [walk(database, case.shape, VALUES, size=size, backward=True)]
    while pages[-1].has_prev:
        pages.append(walk(database, case.shape, VALUES, size=size, position=pages[-1].first, backward=True))
    return pages[::-1]


def joined(pages: list[Page]) -> list[tuple]:
    return [row for page in pages for row in page.rows]


@pytest.mark.parametrize("ordered", sampled(ORDERS, 2))
@few
@given(rows=tables, case=cases, size=sizes)
def test_walking_forward_gives_exactly_the_reference(opened, ordered, rows, case, size):
    case = replace(case, order=ordered)
    with opened.connected():
        fill(opened, rows)
        expected = case.answer(case.reference(rows))
        pages = forward(opened, case, size)
    assert joined(pages) == expected
    assert [len(page.rows) for page in pages[:-1]] == [size] * (len(pages) - 1)
    assert [page.has_prev for page in pages] == [number > 0 for number in range(len(pages))]


@pytest.mark.parametrize("ordered", sampled(ORDERS, 2))
@few
@given(rows=tables, case=cases, size=sizes)
def test_walking_backward_from_the_end_gives_exactly_the_reference(opened, ordered, rows, case, size):
    case = replace(case, order=ordered)
    with opened.connected():
        fill(opened, rows)
        expected = case.answer(case.reference(rows))
        pages = backward(opened, case, size)
    assert joined(pages) == expected
    assert [len(page.rows) for page in pages[1:]] == [size] * (len(pages) - 1)
    assert [page.has_next for page in pages] == [number < len(pages) - 1 for number in range(len(pages))]


@many
@given(rows=tables, case=cases, size=sizes, chance=st.data())
def test_the_page_before_any_row_ends_right_before_it(opened, rows, case, size, chance):
    with opened.connected():
        fill(opened, rows)
        reference = case.reference(rows)
        if not reference:
            return
        at = chance.draw(st.integers(0, len(reference) - 1))
        position = tuple(reference[at][key.column.name] for key in case.shape.order.keys)
        page = walk(opened, case.shape, VALUES, size=size, position=position, backward=True)
    before = reference[max(0, at - size):at]
    assert page.rows == case.answer(before)
    assert page.has_prev == (at > size)
    if before:
        assert page.first == tuple(before[0][key.column.name] for key in case.shape.order.keys)
        assert page.last == tuple(before[-1][key.column.name] for key in case.shape.order.keys)


@many
@given(rows=tables, case=cases, size=sizes, way=st.sampled_from(["forward", "backward"]), chance=st.data())
def test_rows_that_stay_appear_exactly_once_whatever_comes_and_goes(opened, rows, case, size, way, chance):
    present = {row["id"]: row for row in chance.draw(st.lists(st.sampled_from(rows)))} if rows else {}
    touched: set[str] = set()
    seen: list[str] = []
    back = way == "backward"
    with opened.connected():
        fill(opened, list(present.values()))
        page = walk(opened, case.shape, VALUES, size=size, backward=back)
        while True:
            seen += [row[_id(case)] for row in (reversed(page.rows) if back else page.rows)]
            if not (page.has_prev if back else page.has_next):
                break
            for row in chance.draw(st.lists(st.sampled_from(rows), max_size=3)):
                touched.add(row["id"])
                if present.pop(row["id"], None) is None:
                    present[row["id"]] = row
                    Note.insert(row).execute()
                else:
                    Note.delete().where(Note.id == row["id"]).execute()
            page = walk(opened, case.shape, VALUES, size=size, backward=back,
                        position=page.first if back else page.last)
    expected = [row["id"] for row in case.reference(present.values()) if row["id"] not in touched]
    assert [one for one in seen if one not in touched] == (expected[::-1] if back else expected)


def _id(case: Case) -> int:
    return [column.name for column in case.shape.columns].index("id")


@many
@given(rows=tables, case=cases, size=sizes, offset=st.integers(0, 26))
def test_a_page_by_offset_is_that_slice_of_the_reference(opened, rows, case, size, offset):
    with opened.connected():
        fill(opened, rows)
        page = skip(opened, case.shape, VALUES, size=size, offset=offset)
    expected = case.answer(case.reference(rows))
    assert page.rows == expected[offset:offset + size]
    assert page.has_next == (bool(page.rows) and len(expected) > offset + size)


@many
@given(rows=tables, case=cases, limit=st.integers(1, 26))
def test_a_count_is_the_number_of_listed_rows_up_to_its_limit(opened, rows, case, limit):
    with opened.connected():
        fill(opened, rows)
        exact = count(opened, case.shape, VALUES, limit=None)
        bounded = count(opened, case.shape, VALUES, limit=limit)
    assert exact == len(case.reference(rows))
    assert bounded == min(exact, limit)


def note(number):
    return {"id": f"{number:08x}-0000-7000-8000-000000000000", "tenant_id": TENANT, "title": "a", "owner_id": ME,
            "rank": None, "created_at": TIMES[0], "status": "published"}


@pytest.mark.parametrize("counting", [partial(count, limit=None), partial(count, limit=9), estimate],
                         ids=["exact", "bounded", "estimate"])
def test_a_count_follows_each_commit_of_this_connection_and_of_others(opened, counting):
    def numbers():
        with opened.connected():
            if opened.dialect == "postgres":
                opened.execute_sql("ANALYZE notes")
            return [counting(opened, Case("title").shape, VALUES) for _ in range(2)]

    def add(number):
        with opened.connected():
            Note.insert(note(number)).execute()

    with opened.connected():
        fill(opened, [note(1)])
    assert numbers() == [1, 1]
    add(2)
    assert numbers() == [2, 2]
    thread = Thread(target=add, args=(3,))
    thread.start()
    thread.join()
    assert numbers() == [3, 3]


def test_a_count_within_a_transaction_is_not_remembered_beyond_it(opened):
    with opened.connected():
        fill(opened, [note(1)])
        with opened.atomic() as transaction:
            Note.insert(note(2)).execute()
            assert count(opened, Case("title").shape, VALUES, limit=None) == 2
            transaction.rollback()
        assert count(opened, Case("title").shape, VALUES, limit=None) == 1


def test_an_estimate_is_near_the_truth(opened):
    rows = [{"id": f"{number:08x}-0000-7000-8000-000000000000", "tenant_id": TENANT, "title": "a",
             "owner_id": ME if number % 4 == 0 else None, "rank": None, "created_at": TIMES[0],
             "status": "published" if number % 2 == 0 else "draft"} for number in range(6_000)]
    with opened.connected():
        fill(opened, rows)
        if opened.dialect == "postgres":
            opened.execute_sql("ANALYZE notes")
        everything = estimate(opened, Case("title").shape, VALUES)
        half = estimate(opened, Case("title", filters="one status").shape, VALUES)
        either = estimate(opened, Case("title", branches="published or own").shape, VALUES)
        nothing = estimate(opened, Case("title", branches="nothing").shape, VALUES)
    assert 5_500 < everything < 6_500
    assert 2_500 < half < 3_500
    assert 2_500 < either < 4_000
    assert nothing == 0


def test_the_edges_of_an_empty_list_have_no_neighbours_and_no_positions(opened):
    with opened.connected():
        fill(opened, [])
        for back in (False, True):
            page = walk(opened, Case("-created_at").shape, VALUES, size=3, backward=back)
            assert page == Page([], has_next=False, has_prev=False, first=None, last=None)


@pytest.mark.parametrize("ordered", sampled(ORDERS, 2))
@few
@given(rows=tables, case=cases, size=sizes, back=st.booleans(), chance=st.data())
def test_a_page_that_has_become_empty_leads_back_to_what_is_there(opened, ordered, rows, case, size, back, chance):
    case = replace(case, order=ordered)
    keys = [key.column.name for key in case.shape.order.keys]
    with opened.connected():
        fill(opened, rows)
        reference = case.reference(rows)
        if not reference:
            return
        at = chance.draw(st.integers(0, len(reference) - 1))
        position = tuple(reference[at][name] for name in keys)
        gone = [row["id"] for row in (reference[:at] if back else reference[at + 1:])]
        gone += chance.draw(st.sampled_from([[], [reference[at]["id"]]]))  # the row of the position itself
        if gone:
            Note.delete().where(Note.id.in_(gone)).execute()
        left = [row for row in reference if row["id"] not in gone]
        page = walk(opened, case.shape, VALUES, size=size, position=position, backward=back)
        assert (page.rows, page.has_next, page.has_prev) == ([], bool(left) and back, bool(left) and not back)
        if left:
            returned = walk(opened, case.shape, VALUES, size=size, backward=not back,
                            position=page.last if back else page.first)
            assert returned.rows == case.answer(left[:size] if back else left[-size:])


def test_a_repeated_page_builds_no_query(opened, monkeypatch):
    case = Case("rank", branches="published or own")
    shape, position = case.shape, (None, ME)
    with opened.connected():
        fill(opened, [])  # an empty page also looks in the other direction, so that both walks need the same statements
        walk(opened, shape, VALUES, size=3, position=position)
        monkeypatch.setattr(Note, "select", None)
        monkeypatch.setattr(opened, "get_sql_context", None)
        walk(opened, shape, {**VALUES, "me": TENANT}, size=5, position=(None, TENANT))


@pytest.mark.parametrize(("keys", "sentence"), [
    ([], "one to 3 keys"),
    ([Key(Note.title), Key(Note.status), Key(Note.created_at), Key(Note.id)], "one to 3 keys"),
    ([Key(Note.title), Key(Note.title, True)], "twice in the order"),
    ([Key(Note.title), Key(Note.rank)], "rank can be NULL"),
    ([Key(Note.id), Key(Note.title)], "nothing can follow the id"),
])
def test_an_order_that_no_index_can_serve_is_refused(keys, sentence):
    with pytest.raises(ValueError, match=sentence):
        sort_order(*keys)


def test_the_id_is_appended_in_the_direction_of_the_last_key():
    made = sort_order(Key(Note.status), Key(Note.created_at, descending=True))
    assert [(key.column.name, key.descending) for key in made.keys] == [
        ("status", False), ("created_at", True), ("id", True)]

