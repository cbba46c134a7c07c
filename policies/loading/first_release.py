"""Files and permissions that 0.1 shipped: every instance had them, so an administrator removed what is missing.

The lists are frozen. An instance may lack what came later, because an upgrade adds no rules.
"""

FILES = frozenset((
    "admin.csv", "articles.csv", "categories.csv", "comments.csv", "contact.csv", "model.conf", "orders.csv",
    "pages.csv", "products.csv", "roles.csv", "scopes.csv", "session.csv", "users.csv",
))
_ROWS = "create delete export import manage share update view"
PERMISSIONS = frozenset(f"{resource}.{verb}" for resource, verbs in {
    "article": f"{_ROWS} approve archive publish reject submit",
    "audit": "view",
    "category": _ROWS,
    "comment": f"{_ROWS} approve reject",
    "contact": "create delete view",
    "health": "view",
    "order": f"{_ROWS} approve cancel complete refund reject ship",
    "page": f"{_ROWS} archive publish",
    "policy": "view",
    "product": f"{_ROWS} archive publish",
    "profile": "update view",
    "session": "create",
    "stats": "view",
    "token": "create delete view",
    "user": f"{_ROWS} disable enable register",
}.items() for verb in verbs.split())
# A `p` line of 0.1 and the one in its place now, which gives less.
NARROWED = (
    ("p, guest, comment.view, approved, allow", "p, guest, comment.view, approved_public, allow"),
)
