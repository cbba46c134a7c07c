"""What we replace of Flask and Werkzeug beyond their documented hooks: setup.cfg takes one minor of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from flask import Blueprint, Flask, Response, after_this_request
from werkzeug.datastructures import Headers
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Response as WerkzeugResponse

from blueprints.http.pipeline.application import Application

SENTENCE = ("{} has changed: look at blueprints/http/pipeline/application.py and responses.py before setup.cfg lets "
            "this version in")


def test_flask_still_asks_what_the_application_answers_in_advance() -> None:
    source = inspect.getsource(inspect.getmodule(Flask))
    for name in ("ensure_sync", "create_url_adapter", "process_response", "make_default_options_response"):
        assert f"self.{name}(" in source, SENTENCE.format(f"Flask.{name}")


def test_flask_still_does_after_a_request_what_the_application_does() -> None:
    source = inspect.getsource(Flask.process_response)
    for part in ("ctx._after_request_functions", "self.after_request_funcs[name]", "is_null_session(ctx._session)"):
        assert part in source, SENTENCE.format("Flask.process_response")


def test_functions_of_one_request_and_of_one_blueprint_are_called_as_by_flask() -> None:
    called: list[str] = []

    def noting(name: str) -> Callable[[Response], Response]:
        def note(response: Response) -> Response:
            called.append(name)
            return response
        return note

    app, part = Application("part"), Blueprint("part", __name__)
    app.after_request(noting("first"))
    app.after_request(noting("second"))
    app.add_url_rule("/alone", "alone", view_func=lambda: after_this_request(noting("of this request")) and "")
    app.add_url_rule("/", "plain", view_func=lambda: "")
    client = app.test_client()
    client.get("/")
    client.get("/alone")
    assert called == ["second", "first", "of this request", "second", "first"]
    part.add_url_rule("/part", "part", view_func=lambda: "")
    part.after_request(noting("of a blueprint"))
    app, called[:] = Application("whole"), []
    app.after_request(noting("of all"))
    app.register_blueprint(part)
    app.test_client().get("/part")
    assert called == ["of a blueprint", "of all"]


def test_werkzeug_still_matches_by_what_the_application_binds() -> None:
    bound = ["map", "server_name", "script_name", "subdomain", "url_scheme", "path_info", "default_method"]
    assert list(inspect.signature(MapAdapter).parameters)[:len(bound)] == bound, SENTENCE.format("MapAdapter")


def test_werkzeug_still_sends_what_a_response_has_in_these_attributes() -> None:
    sent = inspect.getsource(WerkzeugResponse.get_wsgi_response)
    assert "get_wsgi_headers(" in sent and "self.status" in sent, SENTENCE.format("Response.get_wsgi_response")


def test_werkzeug_still_keeps_headers_as_a_list_of_pairs() -> None:
    assert Headers([("A", "1")])._list == [("A", "1")], SENTENCE.format("Headers")
    given = Headers([("A", "1")])
    assert WerkzeugResponse(headers=given).headers is given, SENTENCE.format("Response.__init__")
