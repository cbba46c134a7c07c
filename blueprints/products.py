"""Products: what can be ordered, and at which price."""

from marshmallow import fields

from gatepost import Collection, Currency, Int, Line, Name, OwnedSchema, Reference, Text, transition
from models.tables.product import Product


class ProductSchema(OwnedSchema):
    """Something for sale. `price` counts minor units of `currency`."""

    name = Name(required=True, metadata={"example": "Walnut desk"})
    sku = Line(required=True, maximum=64, metadata={"example": "desk-walnut"})
    description = Text(maximum=20_000, allow_none=True)
    price = Int(required=True, minimum=0, maximum=10**12, metadata={
        "example": 24900, "description": "Minor units of `currency`.", "minor_units_of": "currency"})
    currency = Currency(required=True, metadata={"example": "EUR"})
    stock = Int(minimum=0, maximum=10**9, metadata={"example": 12})
    category_id = Reference("categories", expand="category", allow_none=True)
    status = fields.String(dump_only=True)


class Products(Collection):
    """Things for sale."""

    name, resource = "products", "product"
    model, schema = Product, ProductSchema
    sort = ("created_at", "updated_at", "name", "price", "stock", "status,-created_at")
    filters = {
        "status": ("eq", "ne", "in"),
        "name": ("eq", "contains", "startswith"),
        "sku": ("eq", "in"),
        "price": ("eq", "lt", "lte", "gt", "gte"),
        "currency": ("eq",),
        "stock": ("eq", "lt", "gte"),
        "category": ("eq",),
        "category_id": ("eq", "in", "isnull"),
        "owner_id": ("eq", "in"),
        "created_at": ("gte", "lt"),
    }
    search = ("name", "description")
    expand = ("category", "owner")
    view_guarded = {"stock": "view_stock"}
    set_guarded = {"price": "set_price"}
    import_keys = ("sku",)
    overview = ("sku", "price", "stock", "status", "category_id", "updated_at")

    publish = transition("publish", "It can be ordered from then on.", {"draft": "active"})
    archive = transition("archive", "It can no longer be ordered, and is kept.", {"active": "archived"})
