"""Quotes: a collection with a field of each kind that forms ask for in their own way."""

import peewee as pw
from marshmallow import fields
from marshmallow.validate import OneOf

from gatepost import (
    Call,
    Collection,
    Currency,
    Int,
    Line,
    ListField,
    Many,
    MoneyField,
    Owned,
    OwnedSchema,
    Reference,
    StrictSchema,
    Time,
    TimeField,
    action,
)


class Quote(Owned):
    """One quote."""

    title = pw.TextField()
    price = MoneyField()
    currency = pw.TextField()
    fee = MoneyField(null=True)
    paid = MoneyField(default=0)
    valid_until = TimeField(null=True)
    channels = ListField(default=list)
    readers = ListField(default=list)
    lines = ListField(default=list)

    class Meta:
        table_name = "quotes"


class QuoteLineSchema(StrictSchema):
    """One line of a quote."""

    text = Line(required=True, maximum=40)
    product_id = Reference("products")
    amount = Int(minimum=0, maximum=10**6, metadata={"minor_units_of": "currency"})
    from_ = Time(data_key="from", attribute="from")
    optional = fields.Boolean()


class QuoteSchema(OwnedSchema):
    """One quote. Its fee is in Swiss francs."""

    title = Line(required=True)
    price = Int(required=True, minimum=0, maximum=10**9, metadata={"minor_units_of": "currency"})
    currency = Currency(required=True)
    fee = Int(minimum=0, allow_none=True, metadata={"minor_units_of": "CHF"})
    paid = Int(dump_only=True, metadata={"minor_units_of": "currency"})
    valid_until = Time(allow_none=True)
    channels = Many(fields.String(validate=OneOf(["post", "mail", "phone"])), maximum=3)
    readers = Many(Line(), maximum=5, metadata={"names_of": "roles"})
    lines = Many(fields.Nested(QuoteLineSchema), maximum=20)


class PaySchema(StrictSchema):
    """A payment, in the currency of the quote."""

    amount = Int(required=True, minimum=1, maximum=10**9, metadata={"minor_units_of": "currency"})


class Quotes(Collection):
    """Quotes, which are paid."""

    name, resource = "quotes", "quote"
    model, schema = Quote, QuoteSchema
    sort = ("created_at",)

    @action("pay", body=PaySchema())
    def pay(self, call: Call, quote: Quote) -> None:
        """Take a payment."""
        quote.paid += call.body["amount"]
