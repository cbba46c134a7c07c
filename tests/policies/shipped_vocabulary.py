"""The vocabulary of the shipped collections (docs/reference.md, Collections), written by hand.

The application derives the same vocabulary from its collections. The copy here is fixed, so that tests compare the
policy with the documentation and need neither the application nor a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from models.records.mailboxes import mailbox
from policies.syntax.vocabulary import Column, Resource, Vocabulary

# The roles that the shipped roles.csv declares, guest first.
ROLES = ("guest", "user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")

TEXT, OPTIONAL_TEXT = Column(str, nullable=False), Column(str, nullable=True)
ADDRESS = replace(TEXT, spelled=mailbox)
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

TENANT, VERSION = replace(ID, row_of="tenant"), replace(NUMBER, least=1, most=2**53)
EVERY_ROW = {"id": ID, "tenant_id": TENANT, "version": VERSION, "created_at": TIME, "updated_at": TIME}
UNSEEN_ROW = {**EVERY_ROW, "version": NUMBER}  # no answer has their version
OWNER, OPTIONAL_OWNER = (replace(one, row_of="user") for one in (ID, OPTIONAL_ID))
OWNED = {**EVERY_ROW, "owner_id": OPTIONAL_OWNER, "department": OPTIONAL_TEXT}
JOB_NUMBER = replace(NUMBER, least=-(2**63), most=2**63 - 1)
CATEGORY = replace(OPTIONAL_ID, row_of="category")

EVERY_COLLECTION = ("view", "view_private", "create", "update", "delete", "export", "import", "manage", "share")
# Permissions of fields, by resource: verb → the verb that decides it until a rule names it.
OF_OWNED = {"set_owner": "manage"}
OF_FIELDS = {
    "product": {**OF_OWNED, "set_price": "update", "view_stock": "view"},
    "order": {**OF_OWNED, "view_total": "view"},
    "comment": {**OF_OWNED, "view_owner": "view"},
    "user": {"set_role": "manage", "set_department": "manage", "set_groups": "manage"},
}
# The methods of the endpoints of each verb. Actions and verbs missing here use only POST.
METHODS = {"update": ("PATCH", "POST", "PUT"), "set_price": ("PATCH", "POST", "PUT"), "delete": ("DELETE",),
           "export": ("GET", "HEAD"), "share": ("DELETE", "GET", "HEAD", "PUT")}
# Verbs for creating rows or for more fields of them. All other verbs need the permission to view the row.
WITHOUT_VIEW = ("view", "create", "import", "manage", "register")
OWNER_INDEX = ("tenant_id", "owner_id", "created_at", "id")
STATUS_INDEX = ("tenant_id", "status", "created_at", "id")


def _collection(name: str, collection: str, /, *actions: str, imports: bool = True, **columns: Column) -> Resource:
    indexes = (OWNER_INDEX, STATUS_INDEX) if "status" in columns else (OWNER_INDEX,)
    of_fields = OF_FIELDS.get(name, OF_OWNED)
    verbs = (*EVERY_COLLECTION, *actions, *of_fields)
    managing = ("manage", *(verb for verb, fallback in of_fields.items() if fallback == "manage"))
    methods = _methods(name, [verb for verb in verbs if verb not in managing and (imports or verb != "import")])
    if not imports:
        methods[f"{name}.update"] -= {"POST"}
    return Resource(name, _named(name, verbs), _of(name, {**OWNED, **columns}), lambda: indexes,
                    collection=collection, methods=methods,
                    on_viewed=_named(name, [verb for verb in verbs if verb not in (*WITHOUT_VIEW, *managing)]),
                    fallbacks={f"{name}.{verb}": f"{name}.{fallback}" for verb, fallback in of_fields.items()})


def _rows(name: str, collection: str, /, *verbs: str, **columns: Column) -> Resource:
    """A resource with rows and these verbs."""
    return Resource(name, _named(name, verbs), _of(name, columns), collection=collection, methods=_methods(name, verbs),
                    on_viewed=_named(name, [verb for verb in verbs if verb not in WITHOUT_VIEW]))


def _other(name: str, /, *verbs: str, **methods: str) -> Resource:
    """A resource without rows. `methods` are the methods of verbs that do not use POST alone."""
    asked = {**_methods(name, verbs), **{f"{name}.{verb}": frozenset(used.split()) for verb, used in methods.items()}}
    return Resource(name, _named(name, verbs), collection=name, methods=asked,
                    on_viewed=_named(name, [verb for verb in verbs if verb.startswith("view_")]))


def _named(name: str, verbs: Iterable[str]) -> frozenset[str]:
    return frozenset(f"{name}.{verb}" for verb in verbs)


def _of(name: str, columns: Mapping[str, Column]) -> dict[str, Column]:
    return {column: replace(one, row_of=name) if column == "id" else one for column, one in columns.items()}


def _methods(name: str, verbs: Iterable[str]) -> dict[str, frozenset[str]]:
    return {f"{name}.{verb}": frozenset(METHODS.get(verb, ("POST",))) for verb in verbs if not verb.startswith("view")}


RESOURCES = (
    _collection(
        "article", "articles", "submit", "approve", "reject", "publish", "archive",
        title=TEXT, slug=TEXT, body=TEXT, language=OPTIONAL_TEXT, category_id=CATEGORY,
        status=STATES["article"], published_at=OPTIONAL_TIME,
    ),
    _collection(
        "product", "products", "publish", "archive",
        name=TEXT, sku=TEXT, description=OPTIONAL_TEXT, price=replace(NUMBER, least=0, most=10**12), currency=TEXT,
        stock=replace(NUMBER, least=0, most=10**9), category_id=CATEGORY, status=STATES["product"],
    ),
    _collection(
        "order", "orders", "approve", "reject", "cancel", "ship", "complete", "refund", imports=False,
        note=OPTIONAL_TEXT, total=replace(NUMBER, least=0, most=2**63 - 1), currency=TEXT, status=STATES["order"],
    ),
    _collection(
        "comment", "comments", "approve", "reject",
        article_id=replace(ID, row_of="article"), body=TEXT, status=STATES["comment"], article_status=TEXT,
    ),
    _collection("category", "categories", name=TEXT, slug=TEXT, parent_id=CATEGORY),
    _collection(
        "user", "users", "disable", "enable", "create_password_link", "remove_second_factor", "register",
        name=TEXT, email=ADDRESS, role=Column(str, nullable=False, format="role"), active=FLAG,
        owner_id=replace(OPTIONAL_OWNER, same_as="id"),
    ),
    _collection(
        "page", "pages", "publish", "archive",
        slug=TEXT, title=TEXT, body=TEXT, language=TEXT, status=STATES["page"], published_at=OPTIONAL_TIME,
    ),
    _rows("session", "sessions", "create", "view", "delete", **UNSEEN_ROW, owner_id=OWNER, last_used_at=TIME,
          address=OPTIONAL_TEXT, device=OPTIONAL_TEXT),
    _rows("job", "jobs", "view", "delete", "retry", **UNSEEN_ROW, owner_id=OPTIONAL_OWNER, kind=TEXT,
          state=STATES["job"], progress=JOB_NUMBER, attempts=JOB_NUMBER, done_at=OPTIONAL_TIME),
    _other("profile", "export", "view", "update", export="GET HEAD", update="DELETE PATCH POST"),
    _rows("token", "tokens", "view", "create", "delete", **UNSEEN_ROW, owner_id=OWNER, name=TEXT),
    _rows("contact", "contact", "create", "view", "delete", **EVERY_ROW, name=TEXT, email=ADDRESS, subject=TEXT,
          body=TEXT),
    _other("health", "view"),
    _other("stats", "view"),
    _other("audit", "view", "view_facts"),
    _other("policy", "view", "update", "evaluate", update="POST"),
)

VOCABULARY = Vocabulary({resource.name: resource for resource in RESOURCES},
                        login={"mfa": Column(bool, True), "auth_age": Column(int, True, least=0)})
PERMISSIONS = frozenset(
    permission for resource in RESOURCES for permission in resource.permissions
)
