"""What we replace of Flask and Werkzeug beyond their documented hooks: setup.cfg takes one minor of each."""

from __future__ import annotations

import inspect

from flask import Flask
from werkzeug.datastructures import Headers
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Response

SENTENCE = ("{} has changed: look at blueprints/http/pipeline/application.py and responses.py before setup.cfg lets "
            "this version in")


def test_flask_still_asks_what_the_application_answers_in_advance() -> None:
    source = inspect.getsource(inspect.getmodule(Flask))
    for name in ("ensure_sync", "create_url_adapter", "make_default_options_response"):
        assert f"self.{name}(" in source, SENTENCE.format(f"Flask.{name}")


def test_werkzeug_still_matches_by_what_the_application_binds() -> None:
    bound = ["map", "server_name", "script_name", "subdomain", "url_scheme", "path_info", "default_method"]
    assert list(inspect.signature(MapAdapter).parameters)[:len(bound)] == bound, SENTENCE.format("MapAdapter")


def test_werkzeug_still_sends_what_a_response_has_in_these_attributes() -> None:
    sent = inspect.getsource(Response.get_wsgi_response)
    assert "get_wsgi_headers(" in sent and "self.status" in sent, SENTENCE.format("Response.get_wsgi_response")


def test_werkzeug_still_keeps_headers_as_a_list_of_pairs() -> None:
    assert Headers([("A", "1")])._list == [("A", "1")], SENTENCE.format("Headers")
    given = Headers([("A", "1")])
    assert Response(headers=given).headers is given, SENTENCE.format("Response.__init__")
