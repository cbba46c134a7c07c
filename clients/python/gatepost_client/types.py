"""Types of requests and answers, from the OpenAPI document of the service."""

# Written by generate.py from the OpenAPI document of the service.
from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

ArticleExpansion = Literal["category", "owner"]
ArticleField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department", "title", "slug", "body",
    "language", "category_id", "status", "published_at", "allowed_actions",
]
ArticleSort = Literal[
    "-created_at", "-published_at", "-status,created_at", "-title", "-updated_at", "created_at", "published_at",
    "status,-created_at", "title", "updated_at",
]
ArticleStatus = Literal["approved", "archived", "draft", "in_review", "published"]
AuditField = Literal[
    "id", "time", "principal", "role", "action", "resource", "resource_id", "address", "result", "reason",
    "policy_version", "request_id", "facts", "count", "allowed_actions",
]
AuditResult = Literal["allowed", "failed", "refused"]
AuditSort = Literal["-time", "time"]
CategoryExpansion = Literal["parent", "owner"]
CategoryField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department", "name", "slug", "parent_id",
    "allowed_actions",
]
CategorySort = Literal["-created_at", "-name", "-updated_at", "created_at", "name", "updated_at"]
CommentExpansion = Literal["article", "owner"]
CommentField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department", "article_id", "body", "status",
    "allowed_actions",
]
CommentSort = Literal[
    "-created_at", "-status,created_at", "-updated_at", "created_at", "status,-created_at", "updated_at",
]
CommentStatus = Literal["approved", "pending", "rejected"]
ContactField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "name", "email", "subject", "body", "allowed_actions",
]
ContactSort = Literal["-created_at", "-updated_at", "created_at", "updated_at"]
JobField = Literal["id", "kind", "state", "progress", "attempts", "created_at", "done_at", "result"]
JobSort = Literal["-created_at", "created_at"]
JobState = Literal["cancelled", "done", "failed", "running", "waiting"]
OrderExpansion = Literal["owner", "items.product"]
OrderField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department", "items", "note", "total",
    "currency", "status", "allowed_actions",
]
OrderSort = Literal[
    "-created_at", "-status,created_at", "-total", "-updated_at", "created_at", "status,-created_at", "total",
    "updated_at",
]
OrderStatus = Literal["approved", "cancelled", "completed", "pending", "refunded", "rejected", "shipped"]
PageExpansion = Literal["owner"]
PageField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department", "slug", "title", "body",
    "language", "status", "published_at", "allowed_actions",
]
PageSort = Literal[
    "-created_at", "-published_at", "-slug", "-status,created_at", "-title", "-updated_at", "created_at",
    "published_at", "slug", "status,-created_at", "title", "updated_at",
]
PageStatus = Literal["archived", "draft", "published"]
ProductExpansion = Literal["category", "owner"]
ProductField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "department", "name", "sku", "description",
    "price", "currency", "stock", "category_id", "status", "allowed_actions",
]
ProductSort = Literal[
    "-created_at", "-name", "-price", "-status,created_at", "-stock", "-updated_at", "created_at", "name", "price",
    "status,-created_at", "stock", "updated_at",
]
ProductStatus = Literal["active", "archived", "draft"]
ServiceTokenField = Literal["id", "name", "scopes", "expires_at", "last_used_at", "token", "allowed_actions"]
ServiceTokenSort = Literal["-created_at", "created_at"]
SessionField = Literal["id", "created_at", "last_used_at", "address", "device", "kind", "current"]
SessionSort = Literal["-created_at", "created_at"]
ShareField = Literal["grantee", "right", "granted_by", "created_at"]
ShareRight = Literal["delete", "manage", "read", "write"]
ShareSort = Literal["-created_at", "created_at"]
UserField = Literal[
    "id", "tenant_id", "version", "created_at", "updated_at", "owner_id", "name", "email", "email_verified_at", "role",
    "department", "groups", "active", "allowed_actions",
]
UserSort = Literal["-created_at", "-email", "-name", "-updated_at", "created_at", "email", "name", "updated_at"]


class Account(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    owner_id: str
    name: str
    email: str
    email_verified_at: str | None
    role: str
    department: str | None
    groups: list[str]
    active: bool
    permissions: list[str]


class Article(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    owner_id: str | None
    department: NotRequired[str | None]
    title: str
    slug: str
    body: str
    language: str
    category_id: str | None
    status: ArticleStatus
    published_at: str | None
    category: NotRequired[Category | None]
    owner: NotRequired[User | None]
    allowed_actions: NotRequired[list[Literal[
        "update", "delete", "share", "approve", "archive", "publish", "reject", "submit"],
    ]]


class ArticleChanges(TypedDict):
    owner_id: NotRequired[str | None]
    title: NotRequired[str]
    slug: NotRequired[str]
    body: NotRequired[str]
    language: NotRequired[str]
    category_id: NotRequired[str | None]


class ArticleList(TypedDict):
    items: list[Article]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Audit(TypedDict):
    id: str
    time: str
    principal: str
    role: str
    action: str
    resource: str
    resource_id: str | None
    address: str | None
    result: AuditResult
    reason: str | None
    policy_version: str | None
    request_id: str | None
    facts: NotRequired[dict[str, Any] | None]
    count: int
    allowed_actions: NotRequired[list[Literal["update", "delete", "share"]]]


class AuditList(TypedDict):
    items: list[Audit]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Category(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    owner_id: str | None
    department: NotRequired[str | None]
    name: str
    slug: str
    parent_id: str | None
    parent: NotRequired[Category | None]
    owner: NotRequired[User | None]
    allowed_actions: NotRequired[list[Literal["update", "delete", "share"]]]


class CategoryChanges(TypedDict):
    owner_id: NotRequired[str | None]
    name: NotRequired[str]
    slug: NotRequired[str]
    parent_id: NotRequired[str | None]


class CategoryList(TypedDict):
    items: list[Category]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Comment(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    owner_id: NotRequired[str | None]
    department: NotRequired[str | None]
    article_id: str
    body: str
    status: CommentStatus
    article: NotRequired[Article | None]
    owner: NotRequired[User | None]
    allowed_actions: NotRequired[list[Literal["update", "delete", "share", "approve", "reject"]]]


class CommentChanges(TypedDict):
    owner_id: NotRequired[str | None]
    body: NotRequired[str]


class CommentList(TypedDict):
    items: list[Comment]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class CommentReplacement(TypedDict):
    owner_id: NotRequired[str | None]
    body: str


class Contact(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    name: str
    email: str
    subject: str
    body: str
    allowed_actions: NotRequired[list[Literal["update", "delete", "share"]]]


class ContactList(TypedDict):
    items: list[Contact]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Fault(TypedDict):
    code: str
    detail: str
    pointer: NotRequired[str]
    parameter: NotRequired[str]
    header: NotRequired[str]
    meta: NotRequired[dict[str, Any]]


class Identities(TypedDict):
    data: list[Identity]


class Identity(TypedDict):
    id: str
    provider: str | None
    issuer: str
    subject: str
    created_at: str
    last_used_at: str | None


class Imported(TypedDict):
    imported: int
    updated: int
    failed: int
    errors: list[LineFault]
    unchanged: NotRequired[int]
    lines: NotRequired[list[PlannedLine]]


class Job(TypedDict):
    id: str
    kind: str
    state: JobState
    progress: int
    attempts: int
    created_at: str
    done_at: str | None
    result: Any


class JobList(TypedDict):
    items: list[Job]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class LineFault(TypedDict):
    line: int
    code: str
    detail: str
    pointer: str | None


class NewArticle(TypedDict):
    owner_id: NotRequired[str | None]
    title: str
    slug: str
    body: str
    language: NotRequired[str]
    category_id: NotRequired[str | None]


class NewCategory(TypedDict):
    owner_id: NotRequired[str | None]
    name: str
    slug: str
    parent_id: NotRequired[str | None]


class NewComment(TypedDict):
    owner_id: NotRequired[str | None]
    article_id: str
    body: str


class NewContact(TypedDict):
    name: str
    email: str
    subject: str
    body: str


class NewOrder(TypedDict):
    owner_id: NotRequired[str | None]
    items: list[NewOrderItem]
    note: NotRequired[str | None]


class NewOrderItem(TypedDict):
    product_id: str
    quantity: int


class NewPage(TypedDict):
    owner_id: NotRequired[str | None]
    slug: str
    title: str
    body: str
    language: str


class NewProduct(TypedDict):
    owner_id: NotRequired[str | None]
    name: str
    sku: str
    description: NotRequired[str | None]
    price: int
    currency: str
    stock: NotRequired[int]
    category_id: NotRequired[str | None]


class NewServiceToken(TypedDict):
    name: str
    scopes: list[str]
    expires_in: NotRequired[int]
    current_password: NotRequired[str | None]


class NewShare(TypedDict):
    grantee: str
    right: Literal["read", "write", "delete", "manage"]


class NewUser(TypedDict):
    name: str
    email: str
    password: NotRequired[str]
    role: NotRequired[str]
    department: NotRequired[str | None]
    groups: NotRequired[list[str]]


class Order(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    owner_id: str | None
    department: NotRequired[str | None]
    items: list[OrderItem]
    note: str | None
    total: NotRequired[int]
    currency: str
    status: OrderStatus
    owner: NotRequired[User | None]
    allowed_actions: NotRequired[list[Literal[
        "update", "delete", "share", "approve", "cancel", "complete", "refund", "reject", "ship"],
    ]]


class OrderChanges(TypedDict):
    owner_id: NotRequired[str | None]
    note: NotRequired[str | None]


class OrderItem(TypedDict):
    product_id: str
    quantity: int
    unit_price: NotRequired[int]
    product: NotRequired[Product | None]


class OrderList(TypedDict):
    items: list[Order]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class OrderReplacement(TypedDict):
    owner_id: NotRequired[str | None]
    note: NotRequired[str | None]


class Page(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    owner_id: str | None
    department: NotRequired[str | None]
    slug: str
    title: str
    body: str
    language: str
    status: PageStatus
    published_at: str | None
    owner: NotRequired[User | None]
    allowed_actions: NotRequired[list[Literal["update", "delete", "share", "archive", "publish"]]]


class PageChanges(TypedDict):
    owner_id: NotRequired[str | None]
    slug: NotRequired[str]
    title: NotRequired[str]
    body: NotRequired[str]
    language: NotRequired[str]


class PageList(TypedDict):
    items: list[Page]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class PageText(TypedDict):
    id: NotRequired[str]
    tenant_id: NotRequired[str]
    version: NotRequired[int]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    owner_id: NotRequired[str | None]
    department: NotRequired[str | None]
    slug: str
    title: str
    body: str
    language: str
    status: NotRequired[PageStatus]
    published_at: NotRequired[str | None]
    owner: NotRequired[User | None]
    allowed_actions: NotRequired[list[Literal["update", "delete", "share", "archive", "publish"]]]


class PasswordLink(TypedDict):
    link: str | None
    token: str
    expires_at: str


class PlannedField(TypedDict):
    field: str
    before: Any
    after: Any


class PlannedLine(TypedDict):
    line: int
    outcome: Literal["created", "changed", "unchanged"]
    id: str | None
    changes: list[PlannedField]


class Product(TypedDict):
    id: str
    tenant_id: str
    version: int
    created_at: str
    updated_at: str
    owner_id: str | None
    department: NotRequired[str | None]
    name: str
    sku: str
    description: str | None
    price: int
    currency: str
    stock: NotRequired[int]
    category_id: str | None
    status: ProductStatus
    category: NotRequired[Category | None]
    owner: NotRequired[User | None]
    allowed_actions: NotRequired[list[Literal["update", "delete", "share", "archive", "publish"]]]


class ProductChanges(TypedDict):
    owner_id: NotRequired[str | None]
    name: NotRequired[str]
    sku: NotRequired[str]
    description: NotRequired[str | None]
    price: NotRequired[int]
    currency: NotRequired[str]
    stock: NotRequired[int]
    category_id: NotRequired[str | None]


class ProductList(TypedDict):
    items: list[Product]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Receipt(TypedDict):
    id: str


class Seal(TypedDict):
    created_at: str | None
    head: str | None
    proved: bool | None


class Sent(TypedDict):
    hours: int


class ServiceToken(TypedDict):
    id: str
    name: str
    scopes: list[str]
    expires_at: str | None
    last_used_at: str | None
    token: NotRequired[str]
    allowed_actions: NotRequired[list[Literal["update", "delete", "share"]]]


class ServiceTokenList(TypedDict):
    items: list[ServiceToken]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Session(TypedDict):
    id: str
    created_at: str
    last_used_at: str
    address: str | None
    device: str | None
    kind: Literal["api", "console"]
    current: bool


class SessionList(TypedDict):
    items: list[Session]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Share(TypedDict):
    grantee: str
    right: ShareRight
    granted_by: str | None
    created_at: str


class ShareList(TypedDict):
    items: list[Share]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class Token(TypedDict):
    access_token: str
    token_type: Literal["Bearer"]
    expires_in: int
    refresh_token: NotRequired[str]
    scope: str


class User(TypedDict):
    id: str
    tenant_id: NotRequired[str]
    version: NotRequired[int]
    created_at: NotRequired[str]
    updated_at: NotRequired[str]
    owner_id: NotRequired[str]
    name: str
    email: NotRequired[str]
    email_verified_at: NotRequired[str | None]
    role: str
    department: NotRequired[str | None]
    groups: NotRequired[list[str]]
    active: NotRequired[bool]
    allowed_actions: NotRequired[list[Literal["update", "delete", "share", "disable", "enable"]]]


class UserChanges(TypedDict):
    name: NotRequired[str]
    email: NotRequired[str]
    role: NotRequired[str]
    department: NotRequired[str | None]
    groups: NotRequired[list[str]]
    current_password: NotRequired[str | None]


class UserList(TypedDict):
    items: list[User]
    has_next: bool
    has_prev: NotRequired[bool]
    next_cursor: NotRequired[str | None]
    prev_cursor: NotRequired[str | None]
    page: NotRequired[int]
    page_size: NotRequired[int]
    total: NotRequired[int | None]
    total_estimate: NotRequired[int]


class UserReplacement(TypedDict):
    name: str
    email: NotRequired[str]
    role: NotRequired[str]
    department: NotRequired[str | None]
    groups: NotRequired[list[str]]
    current_password: NotRequired[str | None]


class ArticleFilters(TypedDict):
    fields: NotRequired[list[ArticleField]]
    sort: NotRequired[ArticleSort]
    q: NotRequired[str]
    shared: NotRequired[Literal["include", "exclude", "only"]]
    status: NotRequired[ArticleStatus]
    status__ne: NotRequired[ArticleStatus]
    status__in: NotRequired[list[ArticleStatus]]
    title: NotRequired[str]
    title__contains: NotRequired[str]
    title__startswith: NotRequired[str]
    slug: NotRequired[str]
    slug__in: NotRequired[list[str]]
    language: NotRequired[str]
    language__in: NotRequired[list[str]]
    category: NotRequired[str]
    category_id: NotRequired[str]
    category_id__in: NotRequired[list[str]]
    category_id__isnull: NotRequired[bool]
    owner_id: NotRequired[str]
    owner_id__in: NotRequired[list[str]]
    created_at__gte: NotRequired[str]
    created_at__lt: NotRequired[str]
    published_at__gte: NotRequired[str]
    published_at__lt: NotRequired[str]
    published_at__isnull: NotRequired[bool]


class ArticleListQuery(ArticleFilters):
    expand: NotRequired[list[ArticleExpansion]]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class ArticlePageQuery(ArticleListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class ArticleView(TypedDict):
    fields: NotRequired[list[ArticleField]]
    expand: NotRequired[list[ArticleExpansion]]


class ArticleImportQuery(TypedDict):
    on_error: NotRequired[Literal["skip"]]
    dry_run: NotRequired[bool]
    key: NotRequired[Literal["slug"]]


class AuditFilters(TypedDict):
    fields: NotRequired[list[AuditField]]
    sort: NotRequired[AuditSort]
    principal: NotRequired[str]
    action: NotRequired[str]
    action__in: NotRequired[list[str]]
    resource: NotRequired[str]
    resource_id: NotRequired[str]
    result: NotRequired[AuditResult]
    result__in: NotRequired[list[AuditResult]]
    time__gte: NotRequired[str]
    time__lt: NotRequired[str]


class AuditListQuery(AuditFilters):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class AuditPageQuery(AuditListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class AuditView(TypedDict):
    fields: NotRequired[list[AuditField]]


class CategoryFilters(TypedDict):
    fields: NotRequired[list[CategoryField]]
    sort: NotRequired[CategorySort]
    shared: NotRequired[Literal["include", "exclude", "only"]]
    slug: NotRequired[str]
    slug__in: NotRequired[list[str]]
    name: NotRequired[str]
    name__contains: NotRequired[str]
    name__startswith: NotRequired[str]
    parent_id: NotRequired[str]
    parent_id__isnull: NotRequired[bool]


class CategoryListQuery(CategoryFilters):
    expand: NotRequired[list[CategoryExpansion]]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class CategoryPageQuery(CategoryListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class CategoryView(TypedDict):
    fields: NotRequired[list[CategoryField]]
    expand: NotRequired[list[CategoryExpansion]]


class CategoryImportQuery(TypedDict):
    on_error: NotRequired[Literal["skip"]]
    dry_run: NotRequired[bool]
    key: NotRequired[Literal["slug"]]


class CommentFilters(TypedDict):
    fields: NotRequired[list[CommentField]]
    sort: NotRequired[CommentSort]
    q: NotRequired[str]
    shared: NotRequired[Literal["include", "exclude", "only"]]
    status: NotRequired[CommentStatus]
    status__ne: NotRequired[CommentStatus]
    status__in: NotRequired[list[CommentStatus]]
    article_id: NotRequired[str]
    article_id__in: NotRequired[list[str]]
    owner_id: NotRequired[str]
    owner_id__in: NotRequired[list[str]]
    body__contains: NotRequired[str]
    created_at__gte: NotRequired[str]
    created_at__lt: NotRequired[str]


class CommentListQuery(CommentFilters):
    expand: NotRequired[list[CommentExpansion]]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class CommentPageQuery(CommentListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class CommentView(TypedDict):
    fields: NotRequired[list[CommentField]]
    expand: NotRequired[list[CommentExpansion]]


class CommentImportQuery(TypedDict):
    on_error: NotRequired[Literal["skip"]]
    dry_run: NotRequired[bool]


class ContactFilters(TypedDict):
    fields: NotRequired[list[ContactField]]
    sort: NotRequired[ContactSort]
    name__contains: NotRequired[str]
    email: NotRequired[str]
    subject__contains: NotRequired[str]
    body__contains: NotRequired[str]
    created_at__gte: NotRequired[str]
    created_at__lt: NotRequired[str]


class ContactListQuery(ContactFilters):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class ContactPageQuery(ContactListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class ContactView(TypedDict):
    fields: NotRequired[list[ContactField]]


class JobFilters(TypedDict):
    fields: NotRequired[list[JobField]]
    sort: NotRequired[JobSort]
    state: NotRequired[JobState]
    kind: NotRequired[str]
    owner_id: NotRequired[str]


class JobListQuery(JobFilters):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class JobPageQuery(JobListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class JobView(TypedDict):
    fields: NotRequired[list[JobField]]


class OrderFilters(TypedDict):
    fields: NotRequired[list[OrderField]]
    sort: NotRequired[OrderSort]
    shared: NotRequired[Literal["include", "exclude", "only"]]
    status: NotRequired[OrderStatus]
    status__ne: NotRequired[OrderStatus]
    status__in: NotRequired[list[OrderStatus]]
    total: NotRequired[int]
    total__lt: NotRequired[int]
    total__lte: NotRequired[int]
    total__gt: NotRequired[int]
    total__gte: NotRequired[int]
    currency: NotRequired[str]
    owner_id: NotRequired[str]
    owner_id__in: NotRequired[list[str]]
    created_at__gte: NotRequired[str]
    created_at__lt: NotRequired[str]


class OrderListQuery(OrderFilters):
    expand: NotRequired[list[OrderExpansion]]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class OrderPageQuery(OrderListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class OrderView(TypedDict):
    fields: NotRequired[list[OrderField]]
    expand: NotRequired[list[OrderExpansion]]


class PageFilters(TypedDict):
    fields: NotRequired[list[PageField]]
    sort: NotRequired[PageSort]
    q: NotRequired[str]
    shared: NotRequired[Literal["include", "exclude", "only"]]
    status: NotRequired[PageStatus]
    status__in: NotRequired[list[PageStatus]]
    slug: NotRequired[str]
    slug__in: NotRequired[list[str]]
    language: NotRequired[str]
    language__in: NotRequired[list[str]]
    title__contains: NotRequired[str]


class PageListQuery(PageFilters):
    expand: NotRequired[list[PageExpansion]]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class PagePageQuery(PageListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class PageView(TypedDict):
    fields: NotRequired[list[PageField]]
    expand: NotRequired[list[PageExpansion]]


class PageImportQuery(TypedDict):
    on_error: NotRequired[Literal["skip"]]
    dry_run: NotRequired[bool]


class ProductFilters(TypedDict):
    fields: NotRequired[list[ProductField]]
    sort: NotRequired[ProductSort]
    q: NotRequired[str]
    shared: NotRequired[Literal["include", "exclude", "only"]]
    status: NotRequired[ProductStatus]
    status__ne: NotRequired[ProductStatus]
    status__in: NotRequired[list[ProductStatus]]
    name: NotRequired[str]
    name__contains: NotRequired[str]
    name__startswith: NotRequired[str]
    sku: NotRequired[str]
    sku__in: NotRequired[list[str]]
    price: NotRequired[int]
    price__lt: NotRequired[int]
    price__lte: NotRequired[int]
    price__gt: NotRequired[int]
    price__gte: NotRequired[int]
    currency: NotRequired[str]
    stock: NotRequired[int]
    stock__lt: NotRequired[int]
    stock__gte: NotRequired[int]
    category: NotRequired[str]
    category_id: NotRequired[str]
    category_id__in: NotRequired[list[str]]
    category_id__isnull: NotRequired[bool]
    owner_id: NotRequired[str]
    owner_id__in: NotRequired[list[str]]
    created_at__gte: NotRequired[str]
    created_at__lt: NotRequired[str]


class ProductListQuery(ProductFilters):
    expand: NotRequired[list[ProductExpansion]]
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class ProductPageQuery(ProductListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class ProductView(TypedDict):
    fields: NotRequired[list[ProductField]]
    expand: NotRequired[list[ProductExpansion]]


class ProductImportQuery(TypedDict):
    on_error: NotRequired[Literal["skip"]]
    dry_run: NotRequired[bool]
    key: NotRequired[Literal["sku"]]


class SessionFilters(TypedDict):
    fields: NotRequired[list[SessionField]]
    sort: NotRequired[SessionSort]
    owner_id: NotRequired[str]


class SessionListQuery(SessionFilters):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class SessionPageQuery(SessionListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class ServiceTokenFilters(TypedDict):
    fields: NotRequired[list[ServiceTokenField]]
    sort: NotRequired[ServiceTokenSort]
    owner_id: NotRequired[str]


class ServiceTokenListQuery(ServiceTokenFilters):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class ServiceTokenPageQuery(ServiceTokenListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class UserFilters(TypedDict):
    fields: NotRequired[list[UserField]]
    sort: NotRequired[UserSort]
    shared: NotRequired[Literal["include", "exclude", "only"]]
    role: NotRequired[str]
    role__in: NotRequired[list[str]]
    name: NotRequired[str]
    name__contains: NotRequired[str]
    name__startswith: NotRequired[str]
    email: NotRequired[str]
    email__startswith: NotRequired[str]
    email_verified_at__isnull: NotRequired[bool]
    department: NotRequired[str]
    department__isnull: NotRequired[bool]
    groups__has: NotRequired[str]
    active: NotRequired[bool]
    created_at__gte: NotRequired[str]
    created_at__lt: NotRequired[str]


class UserListQuery(UserFilters):
    limit: NotRequired[int]
    cursor: NotRequired[str]
    snapshot: NotRequired[bool]


class UserPageQuery(UserListQuery):
    before: NotRequired[str]
    page: NotRequired[int]
    offset: NotRequired[int]


class UserView(TypedDict):
    fields: NotRequired[list[UserField]]


class UserImportQuery(TypedDict):
    on_error: NotRequired[Literal["skip"]]
    dry_run: NotRequired[bool]
