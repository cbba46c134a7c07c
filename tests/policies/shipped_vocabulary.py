"""What the shipped collections say of themselves (docs/reference.md, Collections), written by hand.

The application derives the same from its collections; here it stands fixed, so that the policy is tested
against the documentation and needs neither the application nor a database.
"""

from __future__ import annotations

from dataclasses import replace

from policies.syntax.vocabulary import Column, Resource, Vocabulary

# The roles that the shipped roles.csv declares, guest first.
ROLES = ("guest", "user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")

TEXT, OPTIONAL_TEXT = Column(str, nullable=False), Column(str, nullable=True)
ID, OPTIONAL_ID = Column(str, nullable=False, format="uuid"), Column(str, nullable=True, format="uuid")
TIME, OPTIONAL_TIME = (Column(str, nullable=nullable, format="date-time") for nullable in (False, True))
NUMBER, FLAG = Column(int, nullable=False), Column(bool, nullable=False)

# The states of a row, by its resource.
STATES = {
    name: Column(str, nullable=False, values=tuple(sorted(states))) for name, states in {
        "article": ("draft", "in_review", "approved", "published", "archived"),
        "product": ("draft", "active", "archived"),
        "order": ("pending", "approved", "rejected", "cancelled", "shipped", "completed", "refunded"),
        "comment": ("pending", "approved", "rejected"),
        "page": ("draft", "published", "archived"),
        "job": ("waiting", "running", "done", "failed", "cancelled"),
    }.items()
}

EVERY_ROW = {"id": ID, "tenant_id": ID, "version": NUMBER, "created_at": TIME, "updated_at": TIME}
OWNED = {**EVERY_ROW, "owner_id": OPTIONAL_ID, "department": OPTIONAL_TEXT}

EVERY_COLLECTION = ("view", "view_private", "create", "update", "delete", "export", "import", "manage", "share")
OWNER_INDEX = ("tenant_id", "owner_id", "created_at", "id")
STATUS_INDEX = ("tenant_id", "status", "created_at", "id")


def _collection(name: str, /, *actions: str, **columns: Column) -> Resource:
    indexes = (OWNER_INDEX, STATUS_INDEX) if "status" in columns else (OWNER_INDEX,)
    permissions = frozenset(f"{name}.{action}" for action in (*EVERY_COLLECTION, *actions))
    return Resource(name, permissions, {**OWNED, **columns}, lambda: indexes)


def _other(name: str, /, *actions: str, **columns: Column) -> Resource:
    return Resource(name, frozenset(f"{name}.{action}" for action in actions), columns)


RESOURCES = (
    _collection(
        "article", "submit", "approve", "reject", "publish", "archive",
        title=TEXT, slug=TEXT, body=TEXT, language=OPTIONAL_TEXT, category_id=OPTIONAL_ID,
        status=STATES["article"], published_at=OPTIONAL_TIME,
    ),
    _collection(
        "product", "publish", "archive",
        name=TEXT, sku=TEXT, description=OPTIONAL_TEXT, price=NUMBER, currency=TEXT, stock=NUMBER,
        category_id=OPTIONAL_ID, status=STATES["product"],
    ),
    _collection(
        "order", "approve", "reject", "cancel", "ship", "complete", "refund",
        note=OPTIONAL_TEXT, total=NUMBER, currency=TEXT, status=STATES["order"],
    ),
    _collection(
        "comment", "approve", "reject",
        article_id=ID, body=TEXT, status=STATES["comment"], article_status=TEXT,
    ),
    _collection("category", name=TEXT, slug=TEXT, parent_id=OPTIONAL_ID),
    _collection(
        "user", "disable", "enable", "register",
        name=TEXT, email=TEXT, role=Column(str, nullable=False, format="role"), active=FLAG,
        owner_id=replace(OPTIONAL_ID, same_as="id"),
    ),
    _collection(
        "page", "publish", "archive",
        slug=TEXT, title=TEXT, body=TEXT, language=TEXT, status=STATES["page"], published_at=OPTIONAL_TIME,
    ),
    _other("session", "create", "view", "delete", **EVERY_ROW, owner_id=ID, last_used_at=TIME, address=OPTIONAL_TEXT,
           device=OPTIONAL_TEXT),
    _other("job", "view", "delete", "retry", **EVERY_ROW, owner_id=OPTIONAL_ID, kind=TEXT, state=STATES["job"],
           progress=NUMBER, attempts=NUMBER, done_at=OPTIONAL_TIME),
    _other("profile", "export", "view", "update"),
    _other("token", "view", "create", "delete", **EVERY_ROW, owner_id=ID, name=TEXT),
    _other(
        "contact", "create", "view", "delete",
        **EVERY_ROW, name=TEXT, email=TEXT, subject=TEXT, body=TEXT,
    ),
    _other("health", "view"),
    _other("stats", "view"),
    _other("audit", "view", "view_facts"),
    _other("policy", "view", "update", "evaluate"),
)

VOCABULARY = Vocabulary({resource.name: resource for resource in RESOURCES})
PERMISSIONS = frozenset(
    permission for resource in RESOURCES for permission in resource.permissions
)
