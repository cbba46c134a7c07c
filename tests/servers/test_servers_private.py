"""The private parts of granian and waitress that we use or replace: setup.cfg pins one minor of each."""

from __future__ import annotations

import inspect
import socket
import sys

import pytest
import waitress.parser
from granian import Granian
from granian._granian import SocketHolder
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import WSGITask

from gatepost.servers.waitress import parser

# A class of the server, its methods that we replace or call, and its attributes that we read or set.
USED = [
    (HTTPChannel, "_flush_exception _flush_some_if_lockable received send send_continue",
     "request requests requests_lock total_outbufs_len close_when_flushed will_close sent_continue"),
    (WSGITask, "build_response_header finish get_environment service set_close_on_finish",
     "close_on_finish content_length has_body"),
    (HTTPRequestParser, "close get_body_stream parse_header received",
     "body_rcv completed error expect_continue headers headers_finished path"),
    (TcpWSGIServer, "add_task pull_trigger", "task_dispatcher.add_task"),
    # Documented methods of `asyncore`; waitress has a copy of it.
    (HTTPChannel, "handle_close handle_read handle_write readable writable", ""),
    (TcpWSGIServer, "accept handle_accept readable", "accepting"),
]


def test_granian_still_starts_a_worker_by_what_we_call() -> None:
    parameters = inspect.signature(Granian._spawn_wsgi_worker, follow_wrapped=False).parameters
    assert list(parameters)[:4] == ["worker_id", "process_name", "callback_loader", "sock"], (
        "granian starts a worker in another way: look at gatepost/servers/granian/server.py before setup.cfg takes it")


def test_granian_still_serves_a_socket_that_it_is_given() -> None:
    """Checks the handover only; tests/servers/test_activation.py tests the serving."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        assert SocketHolder(held.fileno(), False, 1).get_fd() == held.fileno(), (
            "granian has changed how a listener is handed over: look at gatepost/servers/granian/server.py")


def test_waitress_still_parses_by_the_pattern_that_we_replace() -> None:
    sentence = ("waitress has changed how it parses. Without that a head takes quadratic time: look at "
                "gatepost/servers/waitress/parser.py before setup.cfg lets it in")
    assert waitress.parser.HEADER_FIELD_RE is parser.HEADER_FIELD, sentence
    assert "HEADER_FIELD_RE.match(" in inspect.getsource(waitress.parser.HTTPRequestParser.parse_header), sentence


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
