"""The private parts of flask-smorest and apispec that we use or replace."""

from __future__ import annotations

from apispec.ext.marshmallow import MarshmallowPlugin
from flask import Flask
from flask_smorest import Api, Blueprint
from marshmallow import Schema, fields


class Thing(Schema):
    name = fields.String()


class Trouble(Schema):
    code = fields.String()


class Sought(Schema):
    q = fields.String()


def test_flask_smorest_still_documents_a_view_by_what_we_keep_on_it() -> None:
    sentence = ("flask-smorest or apispec has changed how views are documented. Without that the OpenAPI description "
                "lacks parameters, answers or summaries: look at describe and document in "
                "gatepost/http/openapi before setup.cfg lets it in")

    def view() -> str:
        return ""

    view._apidoc = {
        "arguments": {"parameters": [{"in": "query", "required": False, "schema": Sought()},
                                     {"in": "json", "required": True, "schema": Thing(),
                                      "content_type": "application/merge-patch+json"}], "responses": {}},
        "response": {"responses": {201: [{"description": "Done.", "content_type": None, "schema": Thing()}],
                                   409: [{"description": "No.", "content_type": "application/problem+json",
                                          "schema": Trouble}]}},
        "success_status_codes": [201],
        "manual_doc": {"summary": "Make one.", "security": [{}]},
    }
    app = Flask("private")
    app.config.update(API_TITLE="Private", API_VERSION="1", OPENAPI_VERSION="3.1.0")
    plugin = MarshmallowPlugin()
    api = Api(app, spec_kwargs={"marshmallow_plugin": plugin})
    assert hasattr(api, "DEFAULT_ERROR_RESPONSE_NAME"), sentence
    api.DEFAULT_ERROR_RESPONSE_NAME = None
    assert plugin.converter is not None and callable(plugin.converter.add_attribute_function), sentence
    made = Blueprint("things", __name__)
    made.add_url_rule("/things", "make", view, methods=["POST"], parameters=["lang"])
    api.spec.components.parameter("lang", "query", {"schema": {"type": "string"}})
    api.register_blueprint(made)
    path = api.spec.to_dict()["paths"]["/things"]
    assert path["parameters"] == [{"$ref": "#/components/parameters/lang"}], sentence
    operation = path["post"]
    assert (operation["summary"], operation["security"]) == ("Make one.", [{}]), sentence
    assert [one["name"] for one in operation["parameters"]] == ["q"], sentence
    assert list(operation["requestBody"]["content"]) == ["application/merge-patch+json"], sentence
    assert set(operation["responses"]) == {"201", "409"}, sentence
    assert list(operation["responses"]["409"]["content"]) == ["application/problem+json"], sentence
