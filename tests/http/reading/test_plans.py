"""A page of each kind of caller, in each declared order, comes from indexes without a sort."""

import pytest

from gatepost.http.pipeline import stages
from models.base import Rows, later, new_id
from models.records import bulk
from models.tables.article import Article
from models.tables.comment import Comment
from models.tables.order import Order
from models.tables.page import Page
from models.tables.product import Product
from models.tables.share import grant
from models.tables.user import User
from policies.evaluation.principal import FixedEnvironment
from policies.loading.loader import from_files
from tests.apps import NO_ROW
from tests.databases import Statements
from tests.policies.generated import FILES
from tests.samples import sampled, sampled_rows

pytestmark = pytest.mark.both_databases

ROWS = 3_000
START = "2026-01-01T00:00:00.000000Z"
ORDERS = {
    "articles": ("created_at", "updated_at", "title", "published_at", "status,-created_at"),
    "categories": ("created_at", "updated_at", "name"),
    "comments": ("created_at", "updated_at", "status,-created_at"),
    "contact": ("created_at", "updated_at"),
    "orders": ("created_at", "updated_at", "total", "status,-created_at"),
    "pages": ("created_at", "updated_at", "title", "slug", "published_at", "status,-created_at"),
    "products": ("created_at", "updated_at", "name", "price", "stock", "status,-created_at"),
    "users": ("created_at", "updated_at", "name", "email"),
}
GUARDED = {("users", "created_at"), ("users", "updated_at"), ("users", "email")}
WALKS = [(collection, sort) for collection, sorts in ORDERS.items() for sort in sorts]
TABLES = {"contact": "contact_messages"}


@pytest.fixture(scope="module", autouse=True)
def full(app, given, as_role):
    """Thousands of rows, nine tenths of them public, every hundredth owned by the ordinary caller."""
    me, other = as_role("user").id, given.user().id
    article = given.article()

    def row(number, **content):
        at = later(number, START)
        return {"id": new_id(), "tenant_id": given.tenant_id, "version": 1, "created_at": at, "updated_at": at,
                "owner_id": other if number % 100 else me, **content}

    def person(values):
        return values | {"owner_id": values["id"]}

    def shown(number, public, hidden="draft"):
        return public if number % 10 else hidden

    tables = {
        Article: lambda n: row(n, title=f"t{n * 7919 % ROWS}", slug=f"s{n}", body="", language="en",
                               status=shown(n, "published"), published_at=later(n, START) if n % 10 else None),
        Comment: lambda n: row(n, body="", article_id=article.id, article_status="published",
                               status=shown(n, "approved", "pending")),
        Order: lambda n: row(n, total=n, currency="EUR", status=shown(n, "pending", "rejected")),
        Page: lambda n: row(n, title=f"t{n}", slug=f"s{n}", language="en", body="", status=shown(n, "published")),
        Product: lambda n: row(n, name=f"n{n}", sku=f"s{n}", price=n, currency="EUR", stock=n,
                               status=shown(n, "active")),
        User: lambda n: person(row(n, name=f"n{n}", email=f"{n}@plans.example", password_hash="", role="user",
                                   groups="[]", active=True, token_version=0)),
    }
    with given.database.connected():
        for model, make in tables.items():
            rows = [make(number) for number in range(ROWS)]
            given.database.transact(lambda model=model, rows=rows: bulk.load(
                given.database, model, tuple(rows[0]), [tuple(row.values()) for row in rows]))
        given.database.analyze()


@pytest.fixture
def plan(app, monkeypatch):
    """Returns the answer to a request, and the plans of its statements on the collection's table."""
    database = app.extensions["gatepost"].database
    kind, run = type(database), type(database).query

    def ask(caller, path):
        statements = Statements()
        with monkeypatch.context() as patched:
            patched.setattr(kind, "query", lambda self, sql, params=(): (
                statements.note((sql, params)), run(self, sql, params))[1])
            answer = caller.get(path)
        assert answer.status_code == 200, answer.get_data(as_text=True)
        collection = path.split("?")[0].removeprefix("/api/")
        table = f'"{TABLES.get(collection, collection)}"'
        mine = [(sql, params) for sql, params in statements if f"FROM {table}" in sql]
        with database.connected():
            if database.dialect == "sqlite":
                return answer, [[row[3] for row in run(database, f"EXPLAIN QUERY PLAN {sql}", params)]
                                for sql, params in mine]
            try:
                # Databases read and sort few rows quickly. The test asks only for a plan without a sort.
                for other in ("seqscan", "bitmapscan", "sort", "incremental_sort"):
                    database.execute_sql(f"SET enable_{other} = off")
                return answer, [list(nodes(run(database, f"EXPLAIN (FORMAT JSON) {sql}", params)[0][0][0]["Plan"]))
                                for sql, params in mine]
            finally:
                database.execute_sql("RESET ALL")
                database.execute_sql("SET timezone = 'UTC'")

    return ask


def nodes(plan, under=""):
    kind = plan["Node Type"]
    yield f"{kind} {plan.get('Index Name', '')} {plan.get('Relation Name', '')}".strip()
    for child in plan.get("Plans", ()):
        yield from nodes(child, kind)


def assert_read_by_index(lines):
    reads = [line for line in lines if line.startswith(("SEARCH", "SCAN", "Index", "Seq", "Bitmap"))]
    assert reads, lines
    # The rows that the branches found together are scanned: the rows of one page.
    assert not [line for line in reads if line.startswith(("SCAN", "Seq")) and line != "SCAN found"], lines


def sorts(lines):
    return [line for line in lines if "TEMP B-TREE" in line or line.startswith(("Sort", "Incremental Sort"))]


def looks_up(lines):
    """Counts the branches that look up shared rows by id. These few rows are then sorted."""
    return len([line for line in lines if "(id=?)" in line or "_pkey" in line]) - ("SCAN found" in lines)


def directions(sort):
    yield sort
    yield ",".join(key.removeprefix("-") if key.startswith("-") else f"-{key}" for key in sort.split(","))


@pytest.mark.parametrize("role", sampled(["user", "guest", "admin"], 3))
@pytest.mark.parametrize(("collection", "sort"), sampled_rows(WALKS, 2), ids=lambda value: value)
def test_every_declared_order_is_an_index(plan, as_role, collection, sort, role):
    caller = as_role(role)
    for asked in directions(sort):
        answer = caller.get(f"/api/{collection}?limit=2&sort={asked}")
        if answer.status_code in (401, 403):  # there is no list for this caller
            continue
        if (collection, sort) in GUARDED and role == "user":
            assert answer.status_code == 400
            continue
        found = answer.get_json()
        pages = [f"/api/{collection}?limit=2&sort={asked}"]
        if found["next_cursor"]:
            pages += [f"{pages[0]}&cursor={found['next_cursor']}", f"{pages[0]}&before={found['next_cursor']}"]
        for path in pages:
            _, plans = plan(caller, path)
            for lines in plans:
                assert_read_by_index(lines)
                mixed = "," in sort
                allowed = looks_up(lines) if role == "user" else 0
                assert mixed or len(sorts(lines)) <= allowed, lines


@pytest.mark.parametrize("role", ["guest", "user", "admin"])
@pytest.mark.parametrize("collection", ["articles", "comments", "orders", "products"])
def test_the_rows_of_one_owner_are_found_by_the_index_of_owners(plan, as_role, collection, role):
    caller = as_role(role)
    if caller.get(f"/api/{collection}").status_code == 401:
        return
    owner = as_role("user").id
    _, plans = plan(caller, f"/api/{collection}?owner_id={owner}")
    assert plans
    for lines in plans:
        assert_read_by_index(lines)
        assert any(f"{collection}_owner" in line for line in lines), lines
        assert len(sorts(lines)) <= (looks_up(lines) if role == "user" else 0), lines


def test_what_is_shared_is_looked_up_and_not_searched_for(plan, given, as_role):
    if given.database.dialect == "postgres":
        return  # it decides by the numbers of shares and rows, and may read these few thousand
    article, caller = given.article(), as_role("user")
    with given.database.connected():
        given.database.transact(lambda: grant(given.tenant_id, "article", article.id, f"user:{caller.id}", "read"))
    _, plans = plan(caller, "/api/articles")
    for lines in plans:
        assert looks_up(lines) == 1, lines
        assert not [line for line in lines if "articles_created" in line], lines


def test_only_what_is_shared_is_looked_up_and_without_it_nothing_is(plan, given, as_user):
    if given.database.dialect == "postgres":
        return  # as above
    caller = as_user("user")
    given.share("article", given.article(), f"user:{caller.id}")
    for order in (asked for declared in ORDERS["articles"] for asked in directions(declared)):
        for filtered in ("", "&status=draft", f"&owner_id={caller.id}"):
            _, plans = plan(caller, f"/api/articles?shared=only&sort={order}{filtered}")
            for lines in plans:
                assert looks_up(lines) == 1 and not [line for line in lines if line.startswith("SCAN")], lines
        _, plans = plan(caller, f"/api/articles?shared=exclude&sort={order}")
        for lines in plans:
            assert_read_by_index(lines)
            assert looks_up(lines) == 0 and sorts(lines) == [], lines


def test_a_search_for_a_rare_word_looks_its_rows_up(plan, given, as_role):
    given.article(title="Quetzal")
    answer, plans = plan(as_role("admin"), "/api/articles?q=quetzal")
    assert len(answer.get_json()["items"]) == 1
    if given.database.dialect == "sqlite":
        assert any("INTEGER PRIMARY KEY (rowid=?)" in line for lines in plans for line in lines), plans


def test_an_id_that_no_row_has_is_looked_up(plan, as_role):
    answer, plans = plan(as_role("admin"), f"/api/articles?category_id={NO_ROW}")
    assert answer.get_json()["items"] == []
    for lines in plans:
        assert any("articles_category" in line for line in lines), lines


def test_a_page_runs_one_statement_on_its_table(plan, as_role):
    for role in ("guest", "user", "admin"):
        _, plans = plan(as_role(role), "/api/articles")
        assert len(plans) == 1


def test_an_age_bounds_the_index_and_its_plan_serves_at_any_time(app, given, plan, as_role, monkeypatch):
    services = app.extensions["gatepost"]
    branch = "p.when == 'always' || \\\n    p.when == 'aged' && olderThan(r.obj.created_at, 'P90D') || \\\n"
    files = {**FILES, "model.conf": FILES["model.conf"].replace(b"p.when == 'always' || \\\n", branch.encode()),
             "orders.csv": b"p, guest, order.view, aged, allow\n# end\n"}
    monkeypatch.setattr(services.policy, "current", from_files(files, services.registry.vocabulary))
    numbers, seen = [], []
    for seconds in (0, 7, 3_000):  # the bound moves with the clock
        at = FixedEnvironment(now=later(90 * 86_400 + seconds, START))
        monkeypatch.setattr(stages, "RequestEnvironment", lambda *_, at=at: at)
        answer, plans = plan(as_role("guest"), "/api/orders?limit=100")
        numbers.append(len(answer.get_json()["items"]))
        seen.append(plans)
        for lines in plans:
            assert_read_by_index(lines)
            assert any("orders_created" in line for line in lines) and sorts(lines) == [], lines
            if given.database.dialect == "sqlite":
                assert any("created_at<?" in line for line in lines), lines
    assert numbers == [0, 7, 100]
    assert seen[0] == seen[1] == seen[2]


def test_every_declared_order_is_tried_here(app):
    collections = app.extensions["gatepost"].collections
    for name, sorts_ in ORDERS.items():
        assert set(sorts_) == set(collections[name].sort) | {collections[name].default_sort.removeprefix("-")}
    assert {name for name, one in collections.items() if len(one.sort) > 1} == set(ORDERS)


def test_rows_are_there(given):
    with given.database.connected():
        assert Rows(Article, given.tenant_id).select().count() > ROWS
