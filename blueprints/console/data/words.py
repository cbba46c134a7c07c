"""Titles of collections and fields in the console. Those of plugins are made from their names."""

from __future__ import annotations

from collections.abc import Mapping

from gatepost import Message

COLLECTIONS: Mapping[str, Message] = {
    "articles": Message("Articles"),
    "audit": Message("Audit log"),
    "categories": Message("Categories"),
    "comments": Message("Comments"),
    "contact": Message("Contact messages"),
    "jobs": Message("Jobs"),
    "orders": Message("Orders"),
    "pages": Message("Pages"),
    "products": Message("Products"),
    "sessions": Message("Sessions"),
    "tokens": Message("Service tokens"),
    "users": Message("Users"),
}
FIELDS: Mapping[str, Message] = {
    "action": Message("Action"),
    "active": Message("Active"),
    "address": Message("Address"),
    "article_id": Message("Article"),
    "attempts": Message("Attempts"),
    "body": Message("Text"),
    "category_id": Message("Category"),
    "created_at": Message("Created"),
    "currency": Message("Currency"),
    "current": Message("This session"),
    "current_password": Message("Your password"),
    "department": Message("Department"),
    "description": Message("Description"),
    "device": Message("Device"),
    "done_at": Message("Finished"),
    "email": Message("E-mail"),
    "expires_at": Message("Expires"),
    "expires_in": Message("Lifetime (seconds)"),
    "grantee": Message("Shared with"),
    "groups": Message("Groups"),
    "items": Message("Items"),
    "kind": Message("Type"),
    "language": Message("Language"),
    "last_used_at": Message("Last used"),
    "name": Message("Name"),
    "note": Message("Note"),
    "owner_id": Message("Owner"),
    "parent_id": Message("Parent"),
    "password": Message("Password"),
    "price": Message("Price"),
    "principal": Message("User"),
    "product_id": Message("Product"),
    "progress": Message("Progress"),
    "published_at": Message("Published"),
    "quantity": Message("Quantity"),
    "reason": Message("Reason"),
    "resource": Message("Resource"),
    "result": Message("Result"),
    "right": Message("Access"),
    "role": Message("Role"),
    "scopes": Message("Scopes"),
    "slug": Message("Slug"),
    "state": Message("State"),
    "status": Message("Status"),
    "stock": Message("Stock"),
    "subject": Message("Subject"),
    "time": Message("Time"),
    "title": Message("Title"),
    "token": Message("Token"),
    "total": Message("Total"),
    "unit_price": Message("Unit price"),
    "updated_at": Message("Updated"),
    "version": Message("Version"),
}


def collection_called(name: str) -> str:
    """Returns the title of a collection."""
    return COLLECTIONS.get(name) or _plain(name)


def field_called(name: str) -> str:
    """Returns the label of a field."""
    return FIELDS.get(name) or _plain(name.removesuffix("_id"))


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().capitalize() or name
