"""A dual-stack socket names an IPv4 client `::ffff:127.0.0.1`. For the rules this is 127.0.0.1."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.incidents.load import SERVERS
from tests.incidents.restarts import SOCKETS, serving
from tests.rule_files import edit
from tests.running import Instance, Served

CONDITIONS = """    p.when == 'here' && ipMatch(r.env.ip, '127.0.0.0/8') || \\
    p.when == 'abroad' && ipMatch(r.env.ip, '203.0.113.0/24') || \\
"""
LINES = {"pages.csv": "p, guest, page.view, here, allow",
         "categories.csv": "p, guest, category.view, always, allow\np, guest, category.view, abroad, deny"}
FORWARDED = {"[::ffff:203.0.113.7]:443": 401, "203.0.113.7:443": 401, "203.0.113.8": 401, "unknown": 401,
             "198.51.100.1": 200, "[2001:db8::1]:443": 200}


def _listening(port: int) -> socket.socket:
    return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, reuse_port=True,
                                backlog=1024)


# By itself waitress listens on one protocol at a time.
@pytest.fixture(params=["waitress on a supervisor's socket", "granian", "granian on a supervisor's sockets"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service on a dual-stack socket with an IPv4 URL. One proxy is trusted."""
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    server, _, held = request.param.partition(" on ")
    instance = Instance(tmp_path_factory.mktemp("both") / "instance", {"GATEPOST_TRUSTED_PROXIES": "1"}).made()
    edit(instance.folder / "policies", CONDITIONS, LINES, only=True)
    with ExitStack() as stack:
        if held:
            sockets = [stack.enter_context(_listening(0))]
            while len(sockets) < SOCKETS[server]:
                sockets.append(stack.enter_context(_listening(sockets[0].getsockname()[1])))
            made = stack.enter_context(serving(instance, sockets, *SERVERS[server]))
        else:
            made = stack.enter_context(instance.served("--host", "::", *SERVERS[server]))
        yield Served(f"http://127.0.0.1:{made.url.rpartition(':')[2]}", made.process)


@pytest.mark.slow
def test_a_rule_about_a_network_knows_an_ipv4_client_and_what_a_proxy_says(service: Served) -> None:
    assert service.call("GET", "/api/pages")[0] == 200, "the client is 127.0.0.1"
    found = {said: service.call("GET", "/api/categories", headers={"X-Forwarded-For": said})[0] for said in FORWARDED}
    assert found == FORWARDED
    assert service.call("GET", "/api/pages", headers={"X-Forwarded-For": "unknown"})[0] == 401
