"""Demo rows of a new instance: two small publishing houses with users of every role, a shop, and its orders.

The rows are listed here; `samples` generates more articles. Collections that are not served are skipped. The users have
no password, and so cannot log in, until `gatepost demo` sets one for a day.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from blueprints.demo import samples
from gatepost.collections.plugins.discovery import discover
from gatepost.features import Installation
from gatepost.http.schemas.documented import example_id
from gatepost.http.security.passwords import UNUSABLE
from models.base import DAY, Record, Rows, later
from models.engine.database import Database
from models.tables import demo_row
from models.tables.instance import rule_set
from models.tables.order import Order, give_back, place
from models.tables.tenant import Tenant
from models.tables.user import User
from policies.loading.rule_sets import SMALL

SECOND_TENANT = "harbour"

# Besides the administrator that `gatepost init` makes; all others of `samples.AUTHORS` are users.
ROLE_OF = {
    "Maya Okafor": "editor", "Jonas Lindqvist": "moderator", "Priya Raman": "manager", "Ruth Herrera": "support",
    "Leila Haddad": "developer", "Ingrid Bauer": "owner",
}
HARBOUR = (
    ("Freya Dahl", "owner", "office"), ("Mateo Silva", "editor", "office"), ("Hana Kimura", "manager", "quay"),
    ("Tom Abara", "user", "quay"),
)
# The roles of the small rule set in place of those that it lacks.
IN_SMALL = {"editor": "staff", "moderator": "staff", "manager": "staff", "support": "staff", "developer": "user"}
# name, parent
SHELVES = (("Shop", None), ("Books", "shop"), ("Stationery", "shop"), ("Field guides", "books"))
# name, sku, price in minor units, stock, shelf, status
PRODUCTS = (
    ("Birds of the northern coast", "BK-1001", 2490, 40, "field-guides", "active"),
    ("A gardener's week", "BK-1002", 1850, 25, "books", "active"),
    ("Letters from a lighthouse", "BK-1003", 1600, 3, "books", "active"),
    ("Pocket notebook, dotted", "ST-2001", 690, 200, "stationery", "active"),
    ("Fountain pen, fine", "ST-2002", 3900, 12, "stationery", "active"),
    ("Wall calendar 2026", "ST-2003", 1450, 0, "stationery", "archived"),
    ("Bookbinding for beginners", "BK-1004", 2200, 0, "books", "draft"),
)
# title, slug, language, author, status, days ago, body. The German articles are too old for a first page, because the
# README and the manual are in English.
ARTICLES = (
    ("How to read a tide table", "how-to-read-a-tide-table", "en", "Maya Okafor", "published", 9,
     "A tide table looks like a railway timetable, and it is read in the same way: first the day, then the time. The "
     "heights are measured from the lowest water of the year, so a small number means that the sandbank is dry.\n\n"
     "Add half an hour for the inner harbour. The fishermen do, and they have been right for longer than the table."),
    ("Wie man eine Gezeitentafel liest", "wie-man-eine-gezeitentafel-liest", "de", "Maya Okafor", "published", 280,
     "Eine Gezeitentafel sieht aus wie ein Fahrplan und wird genauso gelesen: erst der Tag, dann die Uhrzeit. Die "
     "Höhen zählen vom niedrigsten Wasser des Jahres an; eine kleine Zahl heißt also, dass die Sandbank trocken "
     "liegt.\n\nFür den inneren Hafen rechne man eine halbe Stunde dazu. Die Fischer tun es auch."),
    ("The library that never closes", "the-library-that-never-closes", "en", "Aiko Tanaka", "published", 4,
     "Since March the reading room on Mill Street has no opening hours. A card opens the door, a lamp shows who is in, "
     "and in eight months not a single book has gone missing.\n\nWhat did go missing was the queue on Saturdays."),
    ("Die Bibliothek, die nie schließt", "die-bibliothek-die-nie-schliesst", "de", "Aiko Tanaka", "published", 260,
     "Seit März hat der Lesesaal in der Mühlenstraße keine Öffnungszeiten mehr. Eine Karte öffnet die Tür, eine Lampe "
     "zeigt, wer da ist, und in acht Monaten ist kein einziges Buch verschwunden.\n\nVerschwunden ist nur die "
     "Schlange am Samstag."),
    ("Mending a dry-stone wall", "mending-a-dry-stone-wall", "en", "Sam Whitlock", "in_review", 2,
     "Take the wall down further than you think you must. A stone that moves under your hand will move again under "
     "the first sheep, and the second repair always costs more than the first."),
    ("Ein Winter ohne Heizung", "ein-winter-ohne-heizung", "de", "Omar Farouk", "draft", 270,
     "Im November klang es noch wie eine Wette. Im Januar war es eine Frage der Reihenfolge: erst der Tee, dann die "
     "Handschuhe, dann der erste Satz."),
)
# slug, language, title, status, body
PAGES = (
    ("imprint", "en", "Imprint", "published", "Published by the demo tenant of this Gatepost. Write to us through the "
     "contact form; we read it every morning."),
    ("imprint", "de", "Impressum", "published", "Herausgegeben vom Beispielmandanten dieses Gatepost. Schreiben Sie "
     "uns über das Kontaktformular; es wird jeden Morgen gelesen."),
    ("terms", "en", "Terms of sale", "published", "Prices include tax. What you send back within thirty days is "
     "refunded without questions."),
    ("terms", "de", "Verkaufsbedingungen", "draft", "Die Preise enthalten die Steuer. Was binnen dreißig Tagen "
     "zurückkommt, wird ohne Rückfragen erstattet."),
)
# article, author, status, body; the last is the newest
COMMENTS = (
    ("die-bibliothek-die-nie-schliesst", "Elise Marchand", "approved", "Bei uns wird das seit Jahren diskutiert. "
     "Danke für die Zahlen!"),
    ("how-to-read-a-tide-table", "Kwame Mensah", "approved", "Half an hour is about right; in spring it is closer to "
     "forty minutes."),
    ("how-to-read-a-tide-table", "Clara Novak", "pending", "Could you add how the clocks going forward change this?"),
    ("the-library-that-never-closes", "Omar Farouk", "rejected", "First!"),
)
# customer, status, days ago, note, {sku: quantity}
ORDERS = (
    ("Kwame Mensah", "completed", 24, None, {"BK-1001": 1, "ST-2001": 3}),
    ("Clara Novak", "completed", 17, "Please wrap it.", {"BK-1002": 1}),
    ("Elise Marchand", "shipped", 5, None, {"ST-2002": 1, "ST-2001": 2}),
    ("Omar Farouk", "approved", 3, None, {"BK-1003": 1}),
    ("Sam Whitlock", "refunded", 9, "The binding was loose.", {"BK-1001": 1}),
    ("Aiko Tanaka", "cancelled", 8, None, {"ST-2001": 10}),
    ("Kwame Mensah", "rejected", 4, None, {"BK-1003": 2}),
    ("Clara Novak", "pending", 1, "By Friday, if you can.", {"BK-1001": 2, "BK-1002": 1}),
    ("Elise Marchand", "pending", 0, None, {"ST-2001": 1}),
)
MESSAGE = {"name": "Bjarne Holm", "email": "bjarne@example.org", "subject": "Do you buy old charts?",
           "body": "I have a dozen from my grandfather's boat. Shall I send photos?"}
# Collections, in the order in which their rows can be deleted.
KINDS = ("comments", "orders", "articles", "products", "pages", "contact", "categories", "users")
RETURNED = ("refunded", "cancelled", "rejected")  # states whose items are in stock again


def furnish(installation: Installation, tenant: Tenant) -> None:
    """Adds and marks the demo rows of a new instance, in the current transaction."""
    small = rule_set(installation.database) == SMALL
    others = [user.id for user in Rows(User, tenant.id).select(User.id)]
    add(installation.database, tenant, installation.settings.without, IN_SMALL if small else {})
    for one in houses(tenant):
        for model in models_of(installation.settings.without):
            demo_row.mark(one.id, model, model.id.not_in(others))


def houses(tenant: Tenant) -> list[Tenant]:
    """Returns the tenants with demo rows: the default one, and the second one if it exists."""
    second = Tenant.by_name(SECOND_TENANT)
    return [tenant, *([second] if second is not None and second.id != tenant.id else [])]


def models_of(without: Collection[str]) -> list[type[Record]]:
    """Returns the tables of demo rows; each refers only to tables that come later, and to itself."""
    models = {name: one.model for name, one in discover(without=without).collections.items()}
    return [models[name] for name in KINDS if name in models]


def add(database: Database, tenant: Tenant, without: Collection[str] = (),
        roles: Mapping[str, str] = MappingProxyType({})) -> None:
    """Adds demo rows to an empty tenant and to a second one, except for collections in `without`.

    `roles` has replacements for roles. Runs in the current transaction.
    """
    models = {name: one.model for name, one in discover(without=without).collections.items()}
    house = _House(tenant, models, roles, examples=True)
    for name, department in samples.AUTHORS:
        house.person(name, ROLE_OF.get(name, "user"), department)
    if "articles" in models:
        samples.add_small_demo(database, tenant.id)
    house.furnish(PRODUCTS, ARTICLES)
    house.sell()
    if tenant.name != SECOND_TENANT:
        harbour = _House(Tenant.by_name(SECOND_TENANT) or Tenant.add(SECOND_TENANT), models, roles)
        for name, role, department in HARBOUR:
            harbour.person(name, role, department)
        harbour.furnish(PRODUCTS[:2], [(title, slug, language, "Mateo Silva", *rest)
                                       for title, slug, language, _, *rest in ARTICLES[:2]])


class _House:
    """One tenant that gets demo rows. Rows are looked up by name, slug or sku.

    With `examples`, one row of each collection gets the id in the examples of the documentation: the first row; of
    orders, the first pending one.
    """

    def __init__(self, tenant: Tenant, models: dict[str, Any], roles: Mapping[str, str], *, examples: bool = False
                 ) -> None:
        self.tenant_id, self._models, self._roles = tenant.id, models, roles
        self._named = set() if examples else {*models}
        self._people: dict[str, User] = {}
        self._by_role: dict[str, User] = {}
        self._known: dict[str, Any] = {}

    def person(self, name: str, role: str, department: str) -> None:
        user = User(name=name, email=samples.address(name), role=self._roles.get(role, role), department=department,
                    password_hash=UNUSABLE, **self._example("users"))
        self._people[name] = Rows(User, self.tenant_id).insert(user)
        self._by_role.setdefault(role, user)

    def furnish(self, products: Any, articles: Any) -> None:
        """Adds all rows except for orders."""
        editor, manager = self._by_role["editor"], self._by_role["manager"]
        for name, parent in SHELVES:
            slug = name.lower().replace(" ", "-")
            self._add("categories", manager, 300, slug, name=name, slug=slug, parent_id=self._id(parent))
        for name, sku, price, stock, shelf, status in products:
            self._add("products", manager, 200, sku, name=name, sku=sku, price=price, currency="EUR", stock=stock,
                      category_id=self._id(shelf), status=status)
        for title, slug, language, author, status, days, body in articles:
            at = later(-days * DAY) if status == "published" else None
            self._add("articles", self._people[author], days, slug, title=title, slug=slug, language=language,
                      body=body, status=status, published_at=at)
        for slug, language, title, status, body in PAGES:
            at = later(-100 * DAY) if status == "published" else None
            self._add("pages", editor, 100, slug + language, slug=slug, language=language, title=title, body=body,
                      status=status, published_at=at)
        for slug, author, status, body in COMMENTS:
            if author in self._people and self._id(slug):
                self._add("comments", self._people[author], 1, body, article_id=self._id(slug), body=body,
                          status=status)
        self._add("contact", None, 1, "contact", **MESSAGE)

    def sell(self) -> None:
        """Adds orders in every state, which change the stock."""
        if not {"orders", "products"} <= self._models.keys():
            return
        for customer, status, days, note, items in ORDERS:
            owner = self._people[customer]
            order = Order(tenant_id=self.tenant_id, owner_id=owner.id, department=owner.department, note=note,
                          created_at=later(-days * DAY), **self._example("orders", status == "pending"),
                          updated_at=later(-days * DAY), status=status)
            place(order, [(self._known[sku], quantity) for sku, quantity in items.items()])
            if status in RETURNED:
                give_back(order)

    def _add(self, collection: str, owner: User | None, days: int, key: str, **values: Any) -> None:
        model = self._models.get(collection)
        if model is not None:
            whose = {} if owner is None else {"owner_id": owner.id, "department": owner.department}
            at = later(-days * DAY)
            row: Record = model(created_at=at, updated_at=at, **self._example(collection), **whose, **values)
            self._known[key] = Rows(model, self.tenant_id).insert(row)

    def _example(self, collection: str, fits: bool = True) -> dict[str, str]:
        """Returns {"id": the example id} for the first suitable row of a collection; {} for others."""
        if not fits or collection in self._named:
            return {}
        self._named.add(collection)
        return {"id": example_id(collection)}

    def _id(self, key: str | None) -> str | None:
        return self._known[key].id if key in self._known else None
