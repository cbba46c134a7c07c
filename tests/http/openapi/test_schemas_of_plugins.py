"""Plugins may give their schemas any name, and declare values that our own collections do not have."""

from __future__ import annotations

import json
from types import ModuleType

import pytest
from marshmallow import fields
from marshmallow.validate import OneOf
from openapi_spec_validator import validate

from gatepost import Line, Routes
from gatepost.collections.plugins.discovery import discover
from gatepost.http.openapi.document import document
from tests.http.resources.letters.letters import Letters, LetterSchema


class ArticleSchema(LetterSchema):
    """A letter, under the name of our articles."""

    stars = fields.Integer(validate=OneOf([1, 2, 3]))
    remark = Line(allow_none=True, validate=OneOf(["kind", "short"]))


class _Clashing(Letters):
    schema = ArticleSchema
    filters = {**Letters.filters, "remark": ("eq", "isnull")}


_Clashing.__module__ = Letters.__module__  # its rules lie beside it
NULL = {"3.1.0": {"type": "null"}, "3.0.3": {"type": "object", "enum": [None], "nullable": True}}


# apispec warns of every schema whose name gets a number.
pytestmark = pytest.mark.filterwarnings("ignore:Multiple schemas resolved to the name:UserWarning")


@pytest.fixture(scope="module", params=NULL)
def version(request):
    return request.param


@pytest.fixture(scope="module")
def described(version):
    found = json.loads(document(discover([_Clashing]), version))
    validate(found)
    return found["components"]


def test_values_are_those_of_the_schema_that_has_them_whatever_others_are_called(described):
    own = json.loads(document(discover(), "3.1.0"))["components"]["schemas"]
    for kind in ("Field", "Sort"):
        assert described["schemas"][f"Article{kind}"] == own[f"Article{kind}"]
    assert described["parameters"]["letters.sort"]["schema"]["$ref"] == "#/components/schemas/ArticleSort1"
    assert described["schemas"]["ArticleSort1"]["enum"] == ["-code", "-created_at", "code", "created_at"]
    assert "remark" in described["schemas"]["ArticleField1"]["enum"]


def test_a_value_that_may_be_null_is_described_as_that(described, version):
    values = {"$ref": "#/components/schemas/ArticleRemark"}
    assert described["schemas"]["Article1"]["properties"]["remark"] == {"anyOf": [values, NULL[version]]}
    assert described["schemas"]["ArticleRemark"] == {"type": "string", "enum": ["kind", "short"]}
    assert described["parameters"]["letters.remark"]["schema"] == values


def test_values_that_are_numbers_stay_numbers(described):
    assert described["schemas"]["Article1"]["properties"]["stars"] == {"type": "integer", "enum": [1, 2, 3]}


def test_a_guard_is_named_at_the_field_that_it_guards(described):
    guarded = "Shown with the permission `letter.view_code`."
    assert described["schemas"]["Article1"]["properties"]["code"]["description"] == guarded
    assert guarded not in json.dumps(described["schemas"]["Article"])


def test_a_route_of_a_plugin_takes_no_name_of_ours(version):
    routes = Routes("post", "Letters of the post.")
    routes.get("/api/post", public="it is empty", answer=ArticleSchema())(lambda call: {})
    plugin = ModuleType("tests.http.resources.letters.post")
    plugin.__file__, plugin.routes = __file__, routes
    schemas = json.loads(document(discover([plugin]), version))["components"]["schemas"]
    assert "published_at" in schemas["Article"]["properties"]
    assert "stars" in schemas["Article1"]["properties"]
