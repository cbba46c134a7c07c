"""Blueprints of the service: collections, one a module, and features, one a folder.

A folder declares its feature in its `__init__`, and its endpoints in the module `endpoints`. The framework serves what
is listed here, in this order, but for what the setting `without` names. All of it imports from `gatepost`, as plugins
do.
"""

COLLECTIONS = ("users", "products", "orders", "articles", "comments", "categories", "pages", "contact")

FEATURES = (
    "sessions", "password_links", "mail", "accounts",
    "sharing", "health", "public", "stats", "audit", "jobs", "transfer",
    "policy", "policy_changes", "access_review", "authzen",
    "backups", "privacy", "nodes", "activity", "demo",
    "console",
)
