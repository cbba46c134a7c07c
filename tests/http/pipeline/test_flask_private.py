"""What we replace of Flask and Werkzeug beyond their documented hooks: setup.cfg takes one minor of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
from flask import Blueprint, Flask, Response, abort, after_this_request, request_finished, request_started
from werkzeug.datastructures import Headers
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Response as WerkzeugResponse

from blueprints.http.pipeline.application import Application

SENTENCE = ("{} has changed: look at blueprints/http/pipeline/application.py and responses.py before setup.cfg lets "
            "this version in")


def test_flask_still_asks_what_the_application_answers_in_advance() -> None:
    source = inspect.getsource(inspect.getmodule(Flask))
    for name in ("ensure_sync", "create_url_adapter", "full_dispatch_request", "preprocess_request", "process_response",
                 "make_default_options_response"):
        assert f"self.{name}(" in source, SENTENCE.format(f"Flask.{name}")


@pytest.mark.parametrize(("method", "parts"), [
    (Flask.full_dispatch_request, ("request_started.send(", "self.preprocess_request()", "self.dispatch_request()",
                                   "self.handle_user_exception(e)", "self.finalize_request(rv)")),
    (Flask.preprocess_request, ("self.url_value_preprocessors", "self.before_request_funcs")),
    (Flask.dispatch_request, ("self.raise_routing_exception(req)", '"provide_automatic_options", False',
                              "self.view_functions[rule.endpoint]")),
    (Flask.finalize_request, ("self.make_response(rv)", "self.process_response(response)", "request_finished.send(")),
    (Flask.process_response, ("ctx._after_request_functions", "self.after_request_funcs[name]",
                              "is_null_session(ctx._session)")),
], ids=lambda one: getattr(one, "__name__", ""))
def test_flask_still_does_with_a_request_what_the_application_does(method: object, parts: tuple[str, ...]) -> None:
    source = inspect.getsource(method)  # type: ignore[arg-type]
    for part in parts:
        assert part in source, SENTENCE.format("Flask")


def noting(called: list[str], name: str) -> Callable[[Response], Response]:
    def note(response: Response) -> Response:
        called.append(name)
        return response
    return note


@pytest.mark.parametrize("besides", [
    lambda app: None,
    lambda app: app.before_request(lambda: None),
    lambda app: app.url_value_preprocessor(lambda endpoint, values: None),
    lambda app: request_started.connect(listen, app),
    lambda app: request_finished.connect(listen, app),
], ids=["nothing", "a function before", "values of the URL", "a listener before", "a listener after"])
@pytest.mark.parametrize(("path", "said"), [
    ("/", ["in", "view", "out"]), ("/absent", ["in", "out"]), ("/broken", ["in", "out"]), ("/refused", ["in", "out"])])
def test_arrivals_and_departures_are_called_once_whatever_else_flask_is_asked_for(
        besides: Callable[[Flask], object], path: str, said: list[str]) -> None:
    called: list[str] = []
    app = Application("around")
    app.arrivals.append(lambda request: called.append("in"))
    app.departures.append(lambda request, response: noting(called, "out")(response))
    app.add_url_rule("/", "plain", view_func=lambda: called.append("view") or "")
    app.add_url_rule("/broken", "broken", view_func=lambda: 1 // 0)
    app.add_url_rule("/refused", "refused", view_func=lambda: abort(403))
    besides(app)
    answer = app.test_client().get(path)
    assert answer.status_code == {"/": 200, "/absent": 404, "/broken": 500, "/refused": 403}[path]
    assert called == said


def test_what_an_arrival_raises_is_answered_instead_of_the_view() -> None:
    called: list[str] = []
    app = Application("around")
    app.arrivals.append(lambda request: abort(414))
    app.departures.append(lambda request, response: noting(called, "out")(response))
    app.add_url_rule("/", "plain", view_func=lambda: called.append("view") or "")
    assert app.test_client().get("/").status_code == 414
    assert called == ["out"]


def listen(_: Flask, **__: object) -> None:
    """What waits for a signal."""


def test_functions_of_one_request_and_of_one_blueprint_are_called_as_by_flask() -> None:
    called: list[str] = []
    app, part = Application("part"), Blueprint("part", __name__)
    app.after_request(noting(called, "first"))
    app.after_request(noting(called, "second"))
    app.add_url_rule("/alone", "alone", view_func=lambda: after_this_request(noting(called, "of this request")) and "")
    app.add_url_rule("/", "plain", view_func=lambda: "")
    client = app.test_client()
    client.get("/")
    client.get("/alone")
    assert called == ["second", "first", "of this request", "second", "first"]
    part.add_url_rule("/part", "part", view_func=lambda: "")
    part.after_request(noting(called, "of a blueprint"))
    app, called[:] = Application("whole"), []
    app.after_request(noting(called, "of all"))
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
