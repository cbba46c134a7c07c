"""What our mends of granian and waitress replace in them, though it is private there."""

from __future__ import annotations

import inspect

import waitress.parser
from granian.server import mp

from blueprints.http.servers.waitress import parser


def test_granian_still_calls_the_application_by_what_we_replace() -> None:
    sentence = ("granian has changed how it wraps an application. Without that no request finds its place, and none is "
                "refused: look at blueprints/http/servers/granian/server.py before setup.cfg lets it in")
    assert callable(getattr(mp, "_wsgi_call_wrap", None)), sentence
    assert "_wsgi_call_wrap(" in inspect.getsource(mp.MPServer._spawn_wsgi_worker), sentence


def test_waitress_still_parses_by_the_patterns_that_we_replace() -> None:
    sentence = ("waitress has changed how it parses. Without that a head takes quadratic time: look at "
                "blueprints/http/servers/waitress/parser.py before setup.cfg lets it in")
    assert waitress.parser.HEADER_FIELD_RE is parser.HEADER_FIELD, sentence
    assert waitress.parser.first_line_re is parser.REQUEST_LINE, sentence
    assert "HEADER_FIELD_RE.match(" in inspect.getsource(waitress.parser.HTTPRequestParser.parse_header), sentence
    assert "first_line_re.fullmatch(" in inspect.getsource(waitress.parser.crack_first_line), sentence
