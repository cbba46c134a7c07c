"""Demo rows for a first look and for benchmarks: invented authors, categories and articles that look real."""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice

from gatepost.http.security.passwords import UNUSABLE
from models.base import Rows, later, new_id, now
from models.engine.database import Database
from models.records.bulk import ample_cache, load
from models.tables import demo_row
from models.tables.article import Article
from models.tables.category import Category
from models.tables.demo_row import DemoRow
from models.tables.user import User

BATCH = 10_000  # rows in a transaction, short enough that other writers do not wait long
WRITERS = {"sqlite": 1, "postgres": 2}  # batches stored at once, while the next is generated
SPAN = 2 * 365 * 24 * 3600.0  # seconds; created_at is spread over this time
SMALL = 60
MARK = ("tenant_id", "kind", "id", "version")  # columns of a mark

COLUMNS = (
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department",
    "title", "slug", "body", "language", "category_id", "status", "published_at",
)

AUTHORS = (
    ("Maya Okafor", "editorial"), ("Jonas Lindqvist", "editorial"), ("Priya Raman", "sales"),
    ("Ruth Herrera", "support"), ("Aiko Tanaka", "editorial"), ("Leila Haddad", "research"),
    ("Sam Whitlock", "research"), ("Ingrid Bauer", "sales"), ("Kwame Mensah", "support"),
    ("Clara Novak", "editorial"), ("Omar Farouk", "research"), ("Elise Marchand", "sales"),
)
CATEGORIES = (
    "Announcements", "Guides", "Engineering", "Releases", "Community", "Research", "Opinion", "Events",
)
OPENINGS = (
    "A short guide to", "What we learned from", "Notes on", "How we rebuilt", "The quiet return of",
    "Five questions about", "Living with", "An honest look at", "Why we chose", "In praise of",
    "The trouble with", "Measuring", "A year of", "Repairing",
)
QUALITIES = (
    "small", "slow", "shared", "open", "handmade", "northern", "second-hand", "public", "distributed",
    "seasonal", "portable", "reliable", "forgotten", "everyday", "modern",
)
SUBJECTS = (
    "gardens", "databases", "kitchens", "libraries", "bicycles", "newsrooms", "workshops", "railways",
    "schedules", "archives", "batteries", "markets", "backups", "harbours", "maps",
)
SENTENCES = (
    "It began with a list on the back of an envelope.",
    "Nobody had asked for it, which is usually a good sign.",
    "The first version worked well enough that we stopped thinking about it.",
    "Three things surprised us, and only one of them was technical.",
    "We kept the old one running beside it for a month, to be sure.",
    "The numbers in the table below are medians of three runs.",
    "Whoever maintains it next will thank you for writing this down.",
    "There is a cheaper way, and most of the time it is the better one.",
    "A neighbour lent us the tools, and later the patience.",
    "By the end of the second week the queue was empty every morning.",
    "It costs about as much as a good lunch, and lasts a little longer.",
    "What looks like a detail turned out to be the whole design.",
    "We measured before and after, because memory is kind to new things.",
    "If you only change one thing this year, change the defaults.",
    "The instructions fit on one page, and so do the exceptions.",
    "Some readers wrote to disagree, and two of them were right.",
    "None of this is new, but it is rarely done in this order.",
    "You can stop here and still have gained something.",
)
OTHER_STATES = ("draft", "draft", "in_review", "approved", "archived")


def add_small_demo(database: Database, tenant_id: str) -> None:
    """Adds the articles of a new instance, in the current transaction."""
    load(database, Article, COLUMNS, list(generate(database, tenant_id, SMALL)))


def fill(database: Database, tenant_id: str, articles: int) -> Iterator[int]:
    """Adds that many marked articles. Yields the size of each batch when it is committed."""

    def store(batch: list[tuple[object, ...]]) -> int:
        def work() -> None:
            ample_cache(database)
            load(database, Article, COLUMNS, batch)
            load(database, DemoRow, MARK, [(tenant_id, Article._meta.table_name, row[0], 1) for row in batch])

        database.transact(work)
        return len(batch)

    rows = generate(database, tenant_id, articles)
    writers = WRITERS[database.dialect]
    with ThreadPoolExecutor(writers) as pool:
        under_way: deque[Future[int]] = deque()
        while batch := list(islice(rows, BATCH)):
            under_way.append(pool.submit(store, batch))
            # Generate only enough batches to keep the writers busy: a million articles do not fit in memory.
            if len(under_way) > writers:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def generate(database: Database, tenant_id: str, count: int) -> Iterator[tuple[object, ...]]:
    """Yields rows of `COLUMNS`, the oldest first, nine of ten published, spread over two years.

    Creates the authors and categories that they refer to, unless they exist.
    """
    authors, categories = database.transact(lambda: (_authors(tenant_id), _categories(tenant_id)))
    choose = random.Random(count)
    # Some authors write much more than others, as in reality.
    weights = [1 / rank for rank in range(1, len(authors) + 1)]
    paragraphs = [" ".join(choose.sample(SENTENCES, choose.randint(1, 5))) for _ in range(400)]
    end = now()
    for index in range(count):
        title = f"{choose.choice(OPENINGS)} {choose.choice(QUALITIES)} {choose.choice(SUBJECTS)}"
        id = new_id()
        slug = f"{title.lower().replace(' ', '-')}-{id[-12:]}"
        owner_id, department = choose.choices(authors, weights)[0]
        category_id = choose.choice(categories) if choose.random() < 0.9 else None
        length = choose.randint(8, 30) if choose.random() < 0.03 else choose.randint(1, 5)
        body = "\n\n".join(choose.choices(paragraphs, k=length))
        published = index % 10 != 9
        status = "published" if published else choose.choice(OTHER_STATES)
        at = later(-SPAN * (count - index - choose.random() * 0.9) / count, end)
        content = (title, slug, body, "en", category_id, status, at if published else None)
        yield (id, tenant_id, 1, at, at, owner_id, department, *content)


def address(name: str) -> str:
    """Returns the e-mail address of a demo user."""
    return f"{plain(name).replace('-', '.')}@example.org"


def _authors(tenant_id: str) -> list[tuple[str, str]]:
    """Lists (id, department) of the demo authors. They have no password until `gatepost user password` sets one."""
    users, authors = Rows(User, tenant_id), []
    for name, department in AUTHORS:
        email = address(name)
        author = users.select().where(User.email == email).first()
        if author is None:
            author = User(name=name, email=email, role="user", department=department, password_hash=UNUSABLE)
            users.insert(author)
            demo_row.mark(tenant_id, User, User.id == author.id)
        authors.append((author.id, author.department))
    return authors


def _categories(tenant_id: str) -> list[str]:
    categories, ids = Rows(Category, tenant_id), []
    for name in CATEGORIES:
        slug = plain(name)
        category = categories.select().where(Category.slug == slug).first()
        if category is None:
            category = categories.insert(Category(name=name, slug=slug))
            demo_row.mark(tenant_id, Category, Category.id == category.id)
        ids.append(category.id)
    return ids


def plain(text: str) -> str:
    """Returns the text as lower-case ASCII letters and hyphens."""
    return re.sub(r"[^a-z]+", "-", text.lower())
