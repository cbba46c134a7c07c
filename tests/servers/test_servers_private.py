"""What we replace or use of granian and waitress, though it is private there: setup.cfg takes one minor of each."""

from __future__ import annotations

import inspect
import socket
import sys

import pytest
import waitress.parser
from granian._granian import SocketHolder
from granian.server import common, mp
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import BaseWSGIServer, TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask

from gatepost.servers.waitress import parser

# A class of theirs, its methods that we replace or call, and attributes of its own that we read or set.
USED = [
    (mp.MPServer, "_init_shared_socket _spawn_worker _spawn_workers _spawn_wsgi_worker signal_handler_interrupt "
                  "signal_handler_reload",
     "wrks pid interrupt_signal bind_addr bind_port _ssp _shd _sso backlog"),
    (common.AbstractWorker, "is_alive", "inner"),
    (HTTPChannel, "_flush_exception _flush_some_if_lockable handle_close handle_read handle_write readable received "
                  "send send_continue writable",
     "request requests requests_lock total_outbufs_len close_when_flushed will_close sent_continue"),
    (WSGITask, "build_response_header finish get_environment service set_close_on_finish",
     "close_on_finish content_length environ has_body"),
    (HTTPRequestParser, "close get_body_stream parse_header received",
     "body_rcv chunked command completed content_length error expect_continue first_line headers headers_finished path "
     "proxy_netloc proxy_scheme request_uri version"),
    (TcpWSGIServer, "accept add_task handle_accept pull_trigger readable", "_map accepting"),
    (BaseWSGIServer, "add_task", "active_channels effective_host effective_port task_dispatcher"),
    (ThreadedTaskDispatcher, "add_task set_thread_count shutdown", "active_count lock queue threads"),
]


def test_granian_still_calls_the_application_by_what_we_replace() -> None:
    sentence = ("granian has changed how it wraps an application. Without that no request finds its place, and none is "
                "refused: look at gatepost/servers/granian/server.py before setup.cfg lets it in")
    assert callable(getattr(mp, "_wsgi_call_wrap", None)), sentence
    assert "_wsgi_call_wrap(" in inspect.getsource(mp.MPServer._spawn_wsgi_worker), sentence


def test_granian_still_serves_a_socket_that_it_is_given() -> None:
    """What it serves then, tests/servers/test_activation.py shows."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        assert SocketHolder(held.fileno(), False, 1).get_fd() == held.fileno(), (
            "granian has changed how a listener is handed over: look at gatepost/servers/granian/server.py")


def test_waitress_still_parses_by_the_patterns_that_we_replace() -> None:
    sentence = ("waitress has changed how it parses. Without that a head takes quadratic time: look at "
                "gatepost/servers/waitress/parser.py before setup.cfg lets it in")
    assert waitress.parser.HEADER_FIELD_RE is parser.HEADER_FIELD, sentence
    assert waitress.parser.first_line_re is parser.REQUEST_LINE, sentence
    assert "HEADER_FIELD_RE.match(" in inspect.getsource(waitress.parser.HTTPRequestParser.parse_header), sentence
    assert "first_line_re.fullmatch(" in inspect.getsource(waitress.parser.crack_first_line), sentence


@pytest.mark.parametrize(("kind", "methods", "attributes"), [pytest.param(*used, id=used[0].__name__) for used in USED])
def test_their_classes_still_have_what_we_use(kind: type, methods: str, attributes: str) -> None:
    sentence = (f"{kind.__module__}.{kind.__name__} no longer has {{}}: look at gatepost/servers before "
                "setup.cfg lets this version in")
    for name in methods.split():
        assert callable(getattr(kind, name, None)), sentence.format(name)
    modules = {sys.modules[base.__module__] for base in kind.__mro__ if base.__module__ != "builtins"}
    source = "".join(map(inspect.getsource, modules))
    for name in attributes.split():
        assert f".{name}" in source, sentence.format(name)
