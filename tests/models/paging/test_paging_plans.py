"""Each order of the articles comes from indexes without a sort, for each kind of caller."""

from itertools import product

import pytest

from models.base import Rows, later
from models.engine.prepared import Bind
from models.paging import Key, Shape, count, sort_order, walk
from models.records import bulk
from models.tables.article import Article
from models.tables.tenant import Tenant
from models.tables.user import User

pytestmark = pytest.mark.both_databases

ORDERS = {
    "created_at": sort_order(Key(Article.created_at)),
    "updated_at": sort_order(Key(Article.updated_at)),
    "title": sort_order(Key(Article.title)),
    "published_at": sort_order(Key(Article.published_at)),
    "-created_at": sort_order(Key(Article.created_at, descending=True)),
    "status,-created_at": sort_order(Key(Article.status), Key(Article.created_at, descending=True)),
}
BRANCHES = {
    "admin": None,
    "guest": (Article.status == "published",),
    "user": (Article.status == "published", Article.owner_id == Bind("me")),
}
TOTAL = 2_000
START = "2026-01-01T00:00:00.000000Z"


@pytest.fixture(scope="module")
def values(opened):
    """Articles: nine tenths are published, and every third is the caller's."""
    def work():
        tenant = Tenant.add("plans").id
        users = [Rows(User, tenant).insert(User(name="A", email=f"{name}@example.org", password_hash=""))
                 for name in ("me", "other")]
        bulk.insert(opened, tenant, [
            Article(owner_id=users[number % 3 != 0].id, title=f"title {number * 7919 % TOTAL:04}",
                    slug=f"slug-{number}", body="", created_at=later(number // 3, START),
                    updated_at=later(number // 5, START), status="published" if number % 10 else "draft",
                    published_at=later(number // 7, START) if number % 10 else None)
            for number in range(TOTAL)])
        return {"tenant": tenant, "me": users[0].id}

    with opened.connected():
        made = opened.transact(work)
        opened.execute_sql("ANALYZE")
    return made


def shape(ordered, who, *filters):
    return Shape(Article, (Article.id, Article.title), ORDERS[ordered],
                 (Article.tenant_id == Bind("tenant"), *filters), BRANCHES[who])


def plans(database, monkeypatch, work):
    """Returns the plan of each statement of `work`: the lines of SQLite, the node names of Postgres."""
    with monkeypatch.context() as patched:
        statements = []
        run = database.query
        for way in ("query", "recall"):
            patched.setattr(database, way, lambda sql, params: statements.append((sql, params)) or run(sql, params))
        work()
    assert statements
    if database.dialect == "sqlite":
        found = [database.query(f"EXPLAIN QUERY PLAN {sql}", params) for sql, params in statements]
        return [[line for *_, line in rows] for rows in found]
    # Databases read and sort few rows quickly. The test asks only for a plan without a sort.
    for other in ("seqscan", "bitmapscan", "sort"):
        database.execute_sql(f"SET enable_{other} = off")
    found = [database.query(f"EXPLAIN (FORMAT JSON) {sql}", params) for sql, params in statements]
    database.execute_sql("RESET ALL")
    return [list(nodes(rows[0][0][0]["Plan"])) for rows in found]


def nodes(plan):
    yield f"{plan['Node Type']} {plan.get('Index Name', '')}".strip()
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def assert_read_from_indexes(plan):
    # The results of the branches are scanned, and their rows are looked up by id.
    reads = [line for line in plan if line.startswith(("SEARCH", "SCAN", "Index", "Seq", "Bitmap"))
             and line != "SCAN found" and "sqlite_autoindex_articles_1 (id=?)" not in line]
    assert reads, plan
    for line in reads:
        assert " articles_" in line, plan


def assert_nothing_is_sorted(plan, database, who):
    # Postgres sorts the few positions of several branches, to detect duplicates.
    if (who, database.dialect) == ("user", "postgres"):
        return
    assert not [line for line in plan if "TEMP B-TREE" in line or "Sort" in line], plan


@pytest.mark.parametrize("who", BRANCHES)
def test_a_page_is_read_from_indexes_without_a_sort(database, values, monkeypatch, who):
    for ordered, backward in product(ORDERS, (False, True)):
        asked = shape(ordered, who)

        def two_pages(asked=asked, backward=backward):
            page = walk(database, asked, values, size=20, backward=backward)
            position = page.first if backward else page.last
            assert len(walk(database, asked, values, size=20, position=position, backward=backward).rows) == 20

        for plan in plans(database, monkeypatch, two_pages):
            assert_read_from_indexes(plan)
            assert_nothing_is_sorted(plan, database, who)
            if database.dialect == "sqlite":
                assert ("MERGE (UNION)" in plan) == (who == "user"), (ordered, backward, plan)


@pytest.mark.parametrize("who", BRANCHES)
def test_the_articles_of_one_owner_are_read_from_the_index_of_owners(database, values, monkeypatch, who):
    asked = shape("-created_at", who, Article.owner_id == Bind("me"))
    for plan in plans(database, monkeypatch, lambda: walk(database, asked, values, size=20)):
        assert_read_from_indexes(plan)
        assert_nothing_is_sorted(plan, database, who)
        assert any("articles_owner" in line for line in plan), plan


def test_a_count_reads_what_is_mine_from_the_index_of_owners(database, values, monkeypatch):
    asked = shape("-created_at", "user")
    _, own = plans(database, monkeypatch, lambda: count(database, asked, values, limit=TOTAL))
    assert any("articles_owner" in line for line in own), own
