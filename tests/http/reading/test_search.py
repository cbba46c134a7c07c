"""Full-text search: `q` finds the same rows by their words on both databases, and has no query syntax."""

from unicodedata import normalize
from urllib.parse import quote

import orjson
import pytest
from hypothesis import example, settings
from hypothesis import given as for_all
from hypothesis import strategies as st

from models.base import Rows, new_id, now
from models.engine.words import split
from models.records import bulk, search
from models.tables.article import Article
from tests.samples import sampled, sampled_rows

pytestmark = pytest.mark.both_databases

TEXTS = {
    "harbour": ("The harbour at night", "Boats come and go, said Ödön. See https://example.org/boats/list.html."),
    "kitchen": ("A small kitchen", "Knives, pans and a well-kept stove; write to cook@example.org or not."),
    "letters": ("Letters", "O'Brien wrote 42 letters in 3.14 days <b>boldly</b> &amp; foo_bar, AND nothing NEAR."),
    "scripts": ("ΟΔΟΣ ÅNGSTRÖM",
                "東京タワー 2024年 हिन्दी n\u0308x\u0302y ١٢٣ 5 m² x₂y L’été «Straße» rock’n’roll \ue000 𝒳𐐀z"),
    "empty": ("Untitled", "..."),
}


@pytest.fixture(scope="module", autouse=True)
def texts(given):
    return {name: given.article(title=title, body=body, slug=name) for name, (title, body) in TEXTS.items()}


@pytest.fixture
def found(client):
    def ask(q, caller=client, path="/api/articles", **query):
        answer = caller.get(path, query_string={"q": q, "sort": "title", "limit": 50, **query})
        assert answer.status_code == 200, answer.get_data(as_text=True)
        total = caller.get(path, query_string={"q": q, "page": 1, **query}).get_json()["total"]
        assert total == len(answer.get_json()["items"])
        return [row["slug"] for row in answer.get_json()["items"] if row["slug"] in TEXTS]

    return ask


@pytest.mark.parametrize(("q", "slugs"), sampled_rows([
    ("harbour", ["harbour"]),
    ("HARBOUR night", ["harbour"]),
    ("night harbour boats", ["harbour"]),
    ("harbour kitchen", []),
    ("harb", []),
    ("and", ["kitchen", "letters", "harbour"]),
    ('"come and go"', ["harbour"]),
    ('"go and come"', []),
    ('boats "at night"', ["harbour"]),
    ('"at night', ["harbour"]),
    ("well-kept", ["kitchen"]),
    ("kept", ["kitchen"]),
    ("example", ["kitchen", "harbour"]),
    ("cook@example.org", ["kitchen"]),
    ("https://example.org/boats/list.html", ["harbour"]),
    ("list", ["harbour"]),
    ("O'Brien", ["letters"]),
    ("brien", ["letters"]),
    ("42", ["letters"]),
    ("3.14", ["letters"]),
    ("14", ["letters"]),
    ("bar", ["letters"]),
    ("boldly", ["letters"]),
    ("<b>boldly</b>", ["letters"]),
    ("amp", ["letters"]),
    ("Ödön", ["harbour"]),
    ("odon", []),
    ("not", ["kitchen"]),
    ("or", ["kitchen"]),
    ("-harbour", ["harbour"]),
    ("near", ["letters"]),
    ("nothing NEAR and", ["letters"]),
    ("foo", ["letters"]),
    ("foo_bar", ["letters"]),
    ('"foo-bar"', ["letters"]),
    ("foobar", []),
    ("example.org cook", ["kitchen"]),
    ("ångström", ["scripts"]),
    ("angstrom", []),
    ("οδοσ", ["scripts"]),
    ("東京タワー", ["scripts"]),
    ("東京", []),
    ("2024年", ["scripts"]),
    ("2024", []),
    ("हिन्दी", ["scripts"]),
    ("हिन", []),
    ("n\u0308x\u0302y", ["scripts"]),
    ("n\u0308x", []),
    ("y", ["scripts"]),
    ("١٢٣", ["scripts"]),
    ("m²", ["scripts"]),
    ("m", ["scripts"]),
    ("x₂y", ["scripts"]),
    ('"5 m"', ["scripts"]),
    ("l'été", ["scripts"]),
    ("rock'n'roll", ["scripts"]),
    ('"rock n roll"', ["scripts"]),
    ("straße", ["scripts"]),
    ("STRASSE", ["scripts"]),
    ("STRAẞE", ["scripts"]),
    ("οδος", ["scripts"]),
    ("ÅNGSTRÖM", ["scripts"]),
    ("a\u030angstro\u0308m", ["scripts"]),
    ("l’e\u0301te\u0301", ["scripts"]),
    ("𝒳𐐀z", ["scripts"]),
    ("\ue000", ["scripts"]),
], 2))
def test_rows_are_found_by_their_words(found, q, slugs):
    assert found(q) == slugs


@pytest.mark.parametrize("q", sampled(["", " ", "...", "'", '"', '""', '"""', "*", "%", "_", "-", "()", "\u2028", "🪑",
                               "❤\ufe0f", "²", '" "', "&|!"], 2))
def test_without_a_word_nothing_is_found(found, q):
    assert found(q) == []


@pytest.mark.parametrize("q", [
    'harbour"', "harbour*", "harbour)", "(harbour", "harbour'", "harbour;", "harbour--", "harbour\\",
    "{title}: harbour",
    "^harbour", "+harbour", "!harbour", "harbour:*", "harbour & night", "harbour | night",
    '""harbour""', "harbour /* */",
])
def test_signs_of_any_query_language_are_only_signs(found, q):
    assert found(q) in (["harbour"], [])
    if "title" not in q:
        assert found(q) == ["harbour"]


@pytest.mark.parametrize("q", ["title:harbour", "title : harbour", "NEAR(harbour night)", "harbour NOT night",
                               "harbour OR kitchen", "harbour AND kitchen", "articles_search MATCH harbour"])
def test_words_of_any_query_language_are_only_words(found, q):
    assert found(q) == []


@pytest.mark.parametrize("q", ["\x00", "a\x00b", "x" * 201])
def test_what_cannot_be_searched_for_is_refused(client, q):
    answer = client.get("/api/articles", query_string={"q": q})
    assert (answer.status_code, answer.get_json()["code"]) == (400, "invalid_parameter")


@for_all(q=st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_no_text_is_an_error(app, q):
    answer = app.test_client().get(f"/api/articles?q={quote(q.encode('utf-8', 'replace'))}")
    assert answer.status_code == (400 if "\x00" in q else 200)


@for_all(q=st.text())
@example(q="\u0328")
def test_a_query_is_always_quoted_words(q):
    """A combining mark at the start of a word would merge with the end of the tenant's prefix."""
    written = search.words(q, "0192a000-0000-7000-8000-000000abc012", "sqlite")
    assert written == '""' or all(word.startswith("abcghi") and split(word) == [normalize("NFC", word)]
                                  for part in written.strip('"').split('" "') for word in part.split(" "))


def test_rows_are_found_as_they_are_now(found, given, texts):
    article = given.found(Article, texts["empty"].id)
    article.body = "A lighthouse"

    def change():
        return Rows(Article, given.tenant_id).save(article)

    given.database.transact(change)
    assert found("lighthouse") == ["empty"]
    article.body = "..."
    given.database.transact(change)
    assert found("lighthouse") == []
    gone = given.article(title="A lighthouse, too")
    given.database.transact(lambda: Rows(Article, given.tenant_id).delete(gone))
    assert found("lighthouse") == []


def test_what_a_load_brought_is_found_at_once_and_follows_changes(app, client, given):
    columns = ("id", "tenant_id", "version", "created_at", "updated_at", "title", "slug", "body", "language", "status")
    rows = [(new_id(), given.tenant_id, 1, now(), now(), f"Loaded {number}", f"loaded-{number}", "A zeppelin", "en",
             "published") for number in range(30)]
    with given.database.connected():
        given.database.transact(lambda: bulk.load(given.database, Article, columns, rows))
    assert client.get("/api/articles?q=zeppelin&page=1").get_json()["total"] == 30
    loaded = given.found(Article, rows[0][0])
    given.database.transact(lambda: Rows(Article, given.tenant_id).delete(loaded))
    assert client.get("/api/articles?q=zeppelin&page=1").get_json()["total"] == 29


def test_a_common_word_pages_like_any_list(client, given, monkeypatch):
    """The pages are the same whether the rows of a word are looked up or the list is walked."""
    for number in range(9):
        given.article(title=f"A balloon {number}")
    walks = []
    for few in (0, 500):
        monkeypatch.setattr(search, "FEW", few)
        seen, cursor = [], ""
        while cursor is not None:
            answer = client.get(f"/api/articles?q=balloon&limit=4{cursor}").get_json()
            seen += [row["title"] for row in answer["items"]]
            cursor = answer["next_cursor"] and f"&cursor={answer['next_cursor']}"
        walks.append(seen)
    assert walks == [[f"A balloon {number}" for number in reversed(range(9))]] * 2


def test_a_cursor_belongs_to_its_search(client):
    cursor = client.get("/api/articles?q=balloon&limit=4").get_json()["next_cursor"]
    for other in ("q=kitchen&", "q=Balloon&", ""):
        answer = client.get(f"/api/articles?{other}cursor={cursor}")
        assert answer.get_json()["code"] == "cursor_mismatch"


def test_search_filters_and_policy_hold_together(found, given, as_role, as_user):
    author = as_user("user")
    given.article("draft", title="My harbour plans", slug="plans", owner_id=author.id)
    draft = {"status": "draft"}
    assert found("harbour plans", **draft) == []
    rows = author.get("/api/articles?q=harbour plans").get_json()["items"]
    assert [row["slug"] for row in rows] == ["plans"]
    assert found("harbour", language="de") == []
    assert as_role("user").get("/api/articles?q=plans&page=1").get_json()["total"] == 0


def test_another_tenant_finds_nothing(as_role):
    assert as_role("admin", tenant="other").get("/api/articles?q=harbour").get_json()["items"] == []


@pytest.mark.parametrize(("path", "make", "q"), [
    ("comments", lambda given: given.comment(body="A comet passed"), "comet"),
    ("pages", lambda given: given.page(title="Meteors", body="All about them"), "meteors about"),
    ("products", lambda given: given.product(name="Telescope", description="With a tripod"), "tripod telescope"),
])
def test_other_collections_are_searched_too(client, given, path, make, q):
    row = make(given)
    assert [found["id"] for found in client.get(f"/api/{path}?q={q}").get_json()["items"]] == [row.id]


@pytest.mark.parametrize("collection", ["users", "orders", "categories"])
def test_what_has_no_index_of_words_takes_no_search(as_role, collection):
    answer = as_role("admin").get(f"/api/{collection}?q=x")
    assert (answer.status_code, answer.get_json()["code"]) == (400, "unknown_parameter")


def test_what_is_declared_is_what_is_indexed_and_nothing_guarded(app):
    services = app.extensions["gatepost"]
    with services.database.connected():
        for collection in services.collections.values():
            assert not set(collection.search) & set(collection.guarded)
            if collection.search and services.database.dialect == "sqlite":
                index = search.index_of(collection.model)
                names = [name for (name,) in services.database.query("SELECT name FROM pragma_table_info(?)", [index])]
                assert tuple(names) == collection.search


def test_searches_survive_a_vacuum(client, given):
    with given.database.connected():
        given.database.execute_sql("VACUUM")
    titles = [row["title"] for row in client.get("/api/articles?q=harbour night").get_json()["items"]]
    assert titles == ["The harbour at night"]


@pytest.mark.parametrize("body", [
    " ".join(chr(0x20000 + number % 40_000) for number in range(100_000)),
    " ".join(f"{number:x}" for number in range(33_000))[:200_000],
    "𠀀" * 200_000,
    "a" * 200_000,
    "<" * 200_000,
    "a@b.c/" * 33_000,
    " ".join(chr(0x10400 + number % 40) + chr(0x20000 + number % 40_000) for number in range(66_000)),
], ids=["letters", "numbers", "one long word", "one long ASCII word", "signs", "addresses", "pairs"])
def test_any_text_can_be_stored(as_role, given, body):
    slug = f"long-{new_id()}"
    sent = orjson.dumps({"title": "Long", "slug": slug, "body": body})
    answer = as_role("editor").post("/api/articles", data=sent, content_type="application/json")
    assert answer.status_code == 201, answer.get_data(as_text=True)[:300]
    row = given.found(Article, answer.get_json()["id"])
    given.database.transact(lambda: Rows(Article, given.tenant_id).delete(row))


def test_an_export_searches_too(as_role):
    lines = as_role("editor").get("/api/articles/export?q=harbour night&fields=title").get_data(as_text=True)
    assert lines == '{"title":"The harbour at night"}\n'
