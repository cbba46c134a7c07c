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
    "email_verified_at": Message("E-mail verified"),
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
    "resource_id": Message("Object"),
    "result": Message("Result"),
    "right": Message("Access"),
    "role": Message("Role"),
    "scopes": Message("Scopes"),
    "sku": Message("SKU"),
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
# Values that rows have. The text is the value itself; a translation says it in words.
VALUES = (
    # states
    Message("active"), Message("approved"), Message("archived"), Message("cancelled"), Message("completed"),
    Message("done"), Message("draft"), Message("failed"), Message("in_review"), Message("pending"),
    Message("published"), Message("refunded"), Message("rejected"), Message("running"), Message("shipped"),
    Message("waiting"),
    # roles and principals
    Message("admin"), Message("developer"), Message("editor"), Message("guest"), Message("manager"),
    Message("moderator"), Message("operator"), Message("owner"), Message("support"), Message("system"),
    Message("user"),
    # one row of a collection
    Message("article"), Message("category"), Message("comment"), Message("contact"), Message("job"),
    Message("order"), Message("page"), Message("product"), Message("session"), Message("token"),
    # rights of a share
    Message("manage"), Message("read"), Message("write"),
    # actions
    Message("approve"), Message("archive"), Message("cancel"), Message("complete"), Message("disable"),
    Message("enable"), Message("publish"), Message("refund"), Message("reject"), Message("retry"), Message("share"),
    Message("ship"), Message("submit"), Message("update"),
    # what an action does, as its collection describes it
    Message("Accept it for publication."),
    Message("Accept it."),
    Message("Decline it; its products go back into stock."),
    Message("End the user's sessions and refuse new ones."),
    Message("Give it back to its author as a draft."),
    Message("Hand it to the editors."),
    Message("Hide it from all but its author and the moderators."),
    Message("It can be ordered from then on."),
    Message("It can no longer be ordered, and is kept."),
    Message("Run it again, with as many attempts as a new one; committed steps are not repeated."),
    Message("Its products have arrived."),
    Message("Its products have left."),
    Message("Let the user log in again."),
    Message("Pay the money back; what has not been shipped goes back into stock."),
    Message("Show it to every reader."),
    Message("Take it back; its products go back into stock."),
    Message("Take it down, and keep it."),
    Message("Take it off the public pages, and keep it."),
)


def collection_called(name: str) -> str:
    """Returns the title of a collection."""
    return COLLECTIONS.get(name) or _plain(name)


def field_called(name: str) -> str:
    """Returns the label of a field."""
    return FIELDS.get(name) or _plain(name.removesuffix("_id"))


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().capitalize() or name
