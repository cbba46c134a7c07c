"""A body is understood and refused as its schema does by itself, whatever is sent."""

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st
from marshmallow import EXCLUDE, Schema, ValidationError, fields, post_load, validates_schema

from blueprints import Id, Line, StrictSchema
from blueprints.articles import ArticleSchema
from blueprints.categories import CategorySchema
from blueprints.comments import CommentSchema
from blueprints.contact import ContactSchema
from blueprints.http.errors import Problem
from blueprints.http.validation import load_body
from blueprints.orders import OrderSchema
from blueprints.pages import PageSchema
from blueprints.products import ProductSchema
from tests.apps import NOBODY

SCHEMAS = (ArticleSchema, CategorySchema, CommentSchema, ContactSchema, OrderSchema, PageSchema, ProductSchema)
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2**63 - 1), st.floats(allow_nan=False), st.text(max_size=8),
    st.sampled_from(("a-slug", "EUR", "en", NOBODY, "2026-01-01T00:00:00Z")),
    st.lists(st.fixed_dictionaries({}, optional={"product_id": st.just(NOBODY), "quantity": st.integers(0, 3),
                                                 "more": st.none()}), max_size=2))


class Span(StrictSchema):
    """Says more than its fields do."""

    first = fields.Integer(required=True)
    last = fields.Integer(required=True)

    @validates_schema
    def in_order(self, data, **options):
        if data["first"] > data["last"]:
            raise ValidationError("The last comes after the first.", "last")

    @post_load
    def counted(self, data, **options):
        return {**data, "length": data["last"] - data["first"]}


class Lenient(Schema):
    """Takes no notice of what it does not know."""

    name = Line()

    class Meta:
        unknown = EXCLUDE


class Renamed(StrictSchema):
    """Whose field is sent, and kept, under other names."""

    who = Line(required=True, data_key="as", attribute="principal")



def alike(schema, body, **options):
    """Hold `load_body` against the schema itself."""
    partial = options.get("partial") or options.get("fixed", ())
    try:
        expected = schema.load(body, partial=partial)
    except ValidationError as error:
        with pytest.raises(Problem) as refused:
            load_body(schema, body, **options)
        pointers = {fault.pointer.split("/")[1] for fault in refused.value.faults}
        assert pointers == set(error.messages_dict)
        return
    assert load_body(schema, body, **options) == (expected, {})


@pytest.mark.parametrize("options", [{}, {"partial": True}], ids=["whole", "partial"])
@pytest.mark.parametrize("kind", SCHEMAS, ids=lambda kind: kind.__name__)
def test_what_is_sent_is_loaded_as_the_schema_loads_it(kind, options):
    schema = kind()
    sent = st.dictionaries(st.sampled_from((*schema.load_fields, "else")), VALUES)

    @examples(sent)
    @settings(max_examples=40, deadline=None)
    def hold(body):
        alike(schema, body, **options)

    hold()


@pytest.mark.parametrize("body", [{}, {"first": 1}, {"first": 1, "last": 3}, {"first": 3, "last": 1}, {"more": 1}])
def test_a_schema_that_says_more_than_its_fields_has_its_say(body):
    alike(Span(), body)


@pytest.mark.parametrize("body", [{}, {"name": "A"}, {"name": ""}, {"name": "A", "more": 1}])
def test_a_schema_that_takes_what_it_does_not_know_may(body):
    alike(Lenient(), body)


@pytest.mark.parametrize("body", [{}, {"as": "A"}, {"who": "A"}, {"principal": "A"}, {"as": 1}])
def test_a_field_may_be_sent_and_kept_under_other_names(body):
    alike(Renamed(), body)


def test_what_is_fixed_may_be_absent():
    class Sealed(StrictSchema):
        name = Line(required=True)
        parent_id = Id(required=True)

    alike(Sealed(), {"name": "A"}, fixed=("parent_id",))
    assert load_body(Sealed(), {"name": "A", "parent_id": NOBODY}, fixed=("parent_id",)) == (
        {"name": "A"}, {"parent_id": NOBODY})
