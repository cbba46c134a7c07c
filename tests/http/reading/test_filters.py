"""Filters: every operator with its type. A value is a literal or an error, never a part of the query."""

import re

import pytest

from gatepost.http.reading.filters import operand
from models.tables.product import Product
from tests.apps import NO_ROW
from tests.samples import sampled, sampled_rows

NAMES = ["Lamp", "lamp shade", "Oak table", "100% wool_rug", "100 wool rug", "back\\slash", "O'Brien \"chair\"",
         "Äpfel"]


@pytest.fixture(scope="module")
def shop(given):
    """Products 0 … 7, priced 0, 100, …; every other one in the category `rooms`, all but the last active."""
    category = given.category(slug="rooms", name="Rooms")
    found = [given.product("active", name=name, price=number * 100, stock=number,
                           category_id=category.id if number % 2 else None) for number, name in enumerate(NAMES)]
    draft = given.product("draft", name="Secret", price=5, category_id=category.id)
    return {"category": category, "products": found, "draft": draft}


@pytest.fixture
def names(client, shop):
    """Returns the names of the products that match a filter, sorted by price."""
    def ask(caller=client, **query):
        answer = caller.get("/api/products", query_string={"sort": "price", "limit": 50, **query})
        assert answer.status_code == 200, answer.get_data(as_text=True)
        rows = answer.get_json()["items"]
        counted = caller.get("/api/products", query_string={"page": 1, "limit": 50, **query})
        assert counted.get_json()["total"] == len(rows)
        return [row["name"] for row in rows]

    return ask


@pytest.mark.both_databases
@pytest.mark.parametrize(("query", "found"), sampled_rows([
    ({"price": "100"}, [1]),
    ({"price__lt": "200"}, [0, 1]),
    ({"price__lte": "200"}, [0, 1, 2]),
    ({"price__gt": "500"}, [6, 7]),
    ({"price__gte": "500"}, [5, 6, 7]),
    ({"price__gte": "200", "price__lt": "400"}, [2, 3]),
    ({"price__gt": "-9223372036854775807", "price__lt": "9223372036854775807"}, range(8)),
    ({"stock__lt": "1"}, [0]),
    ({"name": "Lamp"}, [0]),
    ({"name": "lamp"}, []),
    ({"name__contains": "LAMP"}, [0, 1]),
    ({"name__contains": "p"}, [0, 1, 7]),
    ({"name__startswith": "lamp"}, [1]),
    ({"name__startswith": "100"}, [3, 4]),
    ({"currency": "EUR"}, range(8)),
    ({"currency": "eur"}, []),
    ({"status": "active"}, range(8)),
    ({"status": "draft"}, []),
    ({"status__ne": "draft"}, range(8)),
    ({"status__in": "draft,active"}, range(8)),
    ({"status__in": "draft"}, []),
    ({"category_id__isnull": "true"}, [0, 2, 4, 6]),
    ({"category_id__isnull": "false"}, [1, 3, 5, 7]),
    ({"created_at__gte": "2020-01-01T00:00:00Z"}, range(8)),
    ({"created_at__lt": "2020-01-01T00:00:00+02:00"}, []),
], 2))
def test_each_operator_means_what_it_says(names, query, found):
    assert names(**query) == [NAMES[number] for number in found]


@pytest.mark.both_databases
@pytest.mark.parametrize(("operator", "finer", "found"), [
    ("gte", "", [1, 2]), ("gte", "0", [1, 2]), ("gte", "5", [2]), ("gte", "0001", [2]),
    ("lt", "", [0]), ("lt", "000", [0]), ("lt", "1", [0, 1]), ("lt", "999", [0, 1]),
])
def test_a_bound_between_two_microseconds_includes_no_row_wrongly_and_misses_none(as_role, given, operator, finer,
                                                                                   found):
    category = given.category()
    rows = [given.product(category_id=category.id) for _ in range(3)]
    times = [f"2026-01-01T00:00:00.00000{number}Z" for number in range(3)]
    with given.database.connected():
        for row, time in zip(rows, times, strict=True):
            Product.update(created_at=time).where(Product.id == row.id).execute()
    answer = as_role("guest").get("/api/products", query_string={
        "category_id": category.id, "sort": "created_at", f"created_at__{operator}": f"{times[1][:-1]}{finer}+00:00"})
    assert answer.status_code == 200, answer.text
    assert [row["created_at"] for row in answer.get_json()["items"]] == [times[number] for number in found]


def test_lower_and_upper_bounds_are_rounded_each_to_its_side(app):
    products = app.extensions["gatepost"].collections["products"]
    rounded = {one: operand(products, "created_at", one).deserialize("2026-01-01T00:00:00.0000011Z")[-4:]
               for one in ("gte", "lt", "gt", "lte")}
    assert rounded == {"gte": "002Z", "lt": "002Z", "gt": "001Z", "lte": "001Z"}


@pytest.mark.both_databases
def test_ids_and_slugs_lead_to_a_category_alike(names, shop):
    inside = [NAMES[number] for number in (1, 3, 5, 7)]
    category = shop["category"]
    assert names(category="rooms") == names(category=category.id) == names(category_id=category.id) == inside
    assert names(category_id__in=f"{category.id},{NO_ROW}") == inside


@pytest.mark.both_databases
def test_a_list_has_values_with_commas_and_quotes(as_role, given):
    skus = ["a,b", "c", 'd"e,f', ",", '"', '19" rack', " g", "h\ni"]
    for sku in skus:
        given.product("active", sku=sku)

    def listed(*parts):
        answer = as_role("guest").get("/api/products", query_string={"sku__in": parts, "sort": "created_at",
                                                                     "fields": "sku"})
        assert answer.status_code == 200, answer.text
        return [row["sku"] for row in answer.get_json()["items"]]

    assert listed('"a,b",c') == listed('"a,b"', "c") == listed('"c","a,b"') == ["a,b", "c"]
    assert listed('"d""e,f",",",""""') == ['d"e,f', ",", '"']
    assert listed('19" rack, g') == ['19" rack', " g"]
    assert listed(*(f'"{sku.replace(chr(34), 2 * chr(34))}"' for sku in skus)) == skus
    assert listed("a,b") == []


def test_the_links_of_a_page_repeat_a_quoted_value(as_role, given):
    for sku in ("one,1", "two,2", "three,3"):
        given.product("active", sku=sku)
    shown, path = [], "/api/products?sku__in=%22one,1%22,%22two,2%22&sku__in=%22three,3%22&limit=1&fields=sku"
    while path:
        answer = as_role("guest").get(path)
        shown += [row["sku"] for row in answer.get_json()["items"]]
        path = next(iter(re.findall(r'<([^>]*)>; rel="next"', answer.headers["Link"])), None)
    assert sorted(shown) == ["one,1", "three,3", "two,2"]


def test_an_export_is_selected_by_quoted_values(as_role, given):
    given.product("active", sku="left,right")
    query = {"sku__in": 'none,"left,right"', "fields": "sku"}
    answer = as_role("admin").get("/api/products/export", query_string=query)
    assert answer.get_data(as_text=True).splitlines() == ['{"sku":"left,right"}']


@pytest.mark.parametrize("category", ["", "no-such-slug", "ROOMS", NO_ROW, "rooms'", "%", "*", "rooms,rooms",
                                      "r" * 1000])
def test_in_a_category_that_is_not_there_there_is_nothing(names, category):
    assert names(category=category) == []


def test_a_category_of_another_tenant_is_none(names, elsewhere):
    category = elsewhere.category(slug="abroad")
    assert names(category="abroad") == names(category=category.id) == []


def test_articles_have_a_category_too(client, given):
    category = given.category(slug="sport")
    article = given.article(category_id=category.id)
    assert [row["id"] for row in client.get("/api/articles?category=sport").get_json()["items"]] == [article.id]


@pytest.mark.both_databases
@pytest.mark.parametrize("text", sampled(["%", "_", "100%", "l_mp", "%%", "\\", "\\%", "'", "\"", "' OR '1'='1", "*",
                                          "Lam*", "--", "a\\", "[L]amp", "Ä", "ä", "\u2028", "🪑", ";", "$1", "%s",
                                          "%(x)s", "?", ":x", "{name}"], 2))
def test_whatever_stands_in_a_text_is_meant_literally(names, text):
    def folded(value):
        return "".join(one.lower() if one.isascii() else one for one in value)

    assert set(names(name__contains=text)) >= {name for name in NAMES if folded(text) in folded(name)}
    assert set(names(name__contains=text)) <= {name for name in NAMES if text.lower() in name.lower()}
    assert names(name__startswith=text) == [name for name in NAMES if name.startswith(text)]
    assert names(name=text) == []


@pytest.mark.parametrize("query", sampled([
    {"price": ""}, {"price": "1.0"}, {"price": "1e3"}, {"price": "9223372036854775808"}, {"price": "9" * 5000},
    {"price": "-9223372036854775808"}, {"price__gte": "ten"}, {"price__lt": "0x10"}, {"price": "1 OR 1=1"},
    {"category_id": "1"}, {"category_id": ""}, {"category_id": NO_ROW[:-1] + "G"}, {"category_id": f"{NO_ROW}'"},
    {"category_id__in": ""}, {"category_id__in": f"{NO_ROW},"}, {"category_id__in": ",".join([NO_ROW] * 101)},
    {"category_id__isnull": ""}, {"category_id__isnull": "1"}, {"category_id__isnull": "yes"},
    {"category_id__isnull": "True"}, {"owner_id": "me"}, {"owner_id": "null"},
    {"created_at__gte": "yesterday"}, {"created_at__gte": "2026-01-01"}, {"created_at__gte": "2026-01-01T00:00:00"},
    {"created_at__lt": "2026-02-30T00:00:00Z"}, {"created_at__lt": "10000-01-01T00:00:00Z"},
    {"created_at__lt": "0001-01-01T00:00:00+01:00"}, {"created_at__gte": "1767225600"},
    {"name": "\x00"}, {"name__contains": "a\x00b"}, {"name__contains": ""}, {"name__startswith": ""},
    {"name__contains": "x" * 1001}, {"name": "x" * 1001}, {"sku__in": ""}, {"status__in": ",".join(["draft"] * 101)},
    {"sku__in": '"TEA-1'}, {"sku__in": 'TEA-1,"'}, {"sku__in": '"TEA"-1'}, {"sku__in": '"TEA-1" ,TEA-2'},
    {"sku__in": 'TEA-1,""'}, {"category_id__in": f'"{NO_ROW}'},
    {"status": "no such status"}, {"status__in": "draft,no such status"}, {"status__ne": "activ"},
], 2))
def test_a_value_of_another_type_is_refused(client, query):
    answer = client.get("/api/products", query_string=query)
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_parameter")
    assert [fault["parameter"] for fault in answer.get_json()["errors"]] == list(query)


@pytest.mark.parametrize("name", [
    "price__ne", "price__contains", "name__gt", "name__in", "name__", "__name", "name__contains__contains",
    "name__regex",
    "category__slug", "category__name__contains", "category_id__gt", "owner__password_hash__startswith", "owner__email",
    "password_hash", "tenant_id", "id", "version__gt", "price__gte'", "price;", "search", "rowid", "page__offset",
])
def test_a_filter_that_is_not_declared_does_not_exist(client, name):
    answer = client.get("/api/products", query_string={name: "1"})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "unknown_parameter")


def test_all_faults_are_answered_together(client):
    problem = client.get("/api/products?price=x&stock=y&category_id=z").get_json()
    assert problem["code"] == "invalid_parameter"
    assert [fault["parameter"] for fault in problem["errors"]] == ["price", "stock", "category_id"]


def test_a_filter_never_shows_what_the_policy_hides(names, shop, as_role):
    assert names(name="Secret") == names(price="5") == names(status="draft") == []
    assert names(as_role("manager"), name="Secret") == ["Secret"]


@pytest.mark.both_databases
def test_emails_are_compared_whatever_their_case(as_role, given):
    given.user(email="someone@example.org")
    rows = as_role("admin").get("/api/users?email=SomeOne@Example.org").get_json()["items"]
    assert [row["email"] for row in rows] == ["someone@example.org"]
    assert len(as_role("admin").get("/api/users?email__startswith=SOMEONE@").get_json()["items"]) == 1


def test_inactive_users_can_be_asked_for(as_role, given):
    given.user(name="Gone", active=False)
    assert [row["name"] for row in as_role("admin").get("/api/users?active=false").get_json()["items"]] == ["Gone"]
