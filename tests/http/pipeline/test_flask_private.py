"""The parts of Flask and Werkzeug that we replace beyond documented hooks: setup.cfg pins one minor of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import pytest
from flask import Blueprint, Flask, Response, abort, after_this_request, request_finished, request_started
from werkzeug.datastructures import Headers
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Response as WerkzeugResponse

from gatepost.http.pipeline.application import Application

SENTENCE = ("{} has changed: look at gatepost/http/pipeline/application.py and responses.py before setup.cfg lets "
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


def with_views(app: Flask, called: list[str]) -> Flask:
    app.add_url_rule("/", "plain", view_func=lambda: called.append("view") or "text", methods=["GET", "POST"])
    app.add_url_rule("/broken", "broken", view_func=lambda: 1 // 0)
    app.add_url_rule("/refused", "refused", view_func=lambda: abort(403))
    app.add_url_rule("/part/", "part", view_func=lambda: called.append("view") or ("", 204, {"X-Part": "1"}))
    return app


REQUESTS = [(method, path) for method in ("GET", "HEAD", "OPTIONS", "POST", "DELETE")
            for path in ("/", "/absent", "/broken", "/refused", "/part/")]


@pytest.mark.parametrize(("method", "path"), REQUESTS)
def test_every_request_is_answered_as_by_flask(method: str, path: str) -> None:
    answers = []
    for made in (Flask("plain"), Application("ours")):
        called: list[str] = []
        answer = with_views(made, called).test_client().open(path, method=method)
        allowed = sorted(answer.headers.pop("Allow", "").split(", "))  # in any order
        answers.append((answer.status_code, answer.data, sorted(answer.headers.items()), allowed, called))
    assert answers[0] == answers[1]


@contextmanager
def more(app: Flask, besides: str) -> Iterator[None]:
    """Adds another function or listener to the app during the block."""
    signal = {"a listener before": request_started, "a listener after": request_finished}.get(besides)
    if besides == "a function before":
        app.before_request(lambda: None)
    elif besides == "values of the URL":
        app.url_value_preprocessor(lambda endpoint, values: None)
    with nullcontext() if signal is None else signal.connected_to(listen, app):
        yield
    assert not request_started.receivers and not request_finished.receivers, "others are answered by the short way"


@pytest.mark.parametrize("besides", ["nothing", "a function before", "values of the URL", "a listener before",
                                     "a listener after"])
@pytest.mark.parametrize(("method", "path", "status", "said"), [
    ("GET", "/", 200, ["in", "view", "out"]), ("OPTIONS", "/", 200, ["in", "out"]), ("PUT", "/", 405, ["in", "out"]),
    ("GET", "/absent", 404, ["in", "out"]), ("GET", "/broken", 500, ["in", "out"]),
    ("GET", "/refused", 403, ["in", "out"])])
def test_arrivals_and_departures_are_called_once_whatever_else_flask_is_asked_for(
        besides: str, method: str, path: str, status: int, said: list[str]) -> None:
    called: list[str] = []
    app = Application("around")
    app.arrivals.append(lambda request: called.append("in"))
    app.departures.append(lambda request, response: noting(called, "out")(response))
    with_views(app, called)
    with more(app, besides):
        assert app.test_client().open(path, method=method).status_code == status
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
    """A receiver of a signal."""


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
