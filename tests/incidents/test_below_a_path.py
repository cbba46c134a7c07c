"""The service and both clients below a path, behind nginx that removes it as docs/running/proxy.md says."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.crawl import crawled
from tests.incidents.load import SERVERS
from tests.incidents.proxies import DEPLOY, HOST, ask, behind
from tests.running import PASSWORD, ROOT, Instance

PATH = "/gate"
BASE = f"https://{HOST}{PATH}"
SAMPLE = (DEPLOY / "nginx.conf").read_text("utf-8")
TOLD = (ROOT / "docs/running/proxy.md").read_text("utf-8").partition("```nginx\n")[2].partition("```")[0]
BELOW = {
    SAMPLE[SAMPLE.index("    location / {"):].rstrip().removesuffix("}"): TOLD,
    "location = /metrics": f"location = {PATH}/metrics",
    '"type":"/docs/errors': f'"type":"{PATH}/docs/errors',
    # A trial of a rule has a low priority, so on a busy machine it may take longer.
    "proxy_read_timeout 60s": "proxy_read_timeout 300s",
    "    # Numbers for Prometheus stay inside.":
        f"    location = /.well-known/authzen-configuration{PATH} {{\n"
        "        proxy_pass http://gatepost/.well-known/authzen-configuration;\n    }\n",
}


@pytest.fixture(scope="module", params=SERVERS)
def port(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The HTTPS port of nginx, in front of a service with the rows of the demo."""
    folder = tmp_path_factory.mktemp("below")
    instance = Instance(folder / "instance", {
        "GATEPOST_PUBLIC_URL": f"{BASE}/", "GATEPOST_TRUSTED_PROXIES": "1", "GATEPOST_POLICY_EDIT": "on",
        "GATEPOST_RATE_LIMITS": "off"})
    done = instance.run("init", "--admin-email", "admin@example.org", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0 and f"{BASE}/api/health" in done.stdout, done.stdout + done.stderr
    with (instance.served(*SERVERS[request.param]) as service,
          behind("nginx", service.url, folder, BELOW) as port):
        yield port


# What is handed out does not depend on the server.
@pytest.mark.slow
@pytest.mark.parametrize("port", ["waitress"], indirect=True, scope="module")
def test_everything_that_is_handed_out_is_below_it_and_answers(port):
    def send(method, path, headers, body):
        status, answered, content = ask(port, method, path, body, headers)
        return status, list(answered.items()), content

    crawl = crawled(send, BASE, PASSWORD)
    assert "\n".join(crawl.faults) == ""
    assert len(crawl.seen) > 100 and len(crawl.sent) > 20


@pytest.mark.slow
def test_nothing_is_outside_of_it_and_what_nginx_refuses_leads_to_the_same_documentation(port):
    for path in ("/api/articles", "/console", "/gateway", f"{PATH}/metrics"):
        status, _, body = ask(port, "GET", path)
        assert (status, json.loads(body)["type"]) == (404, f"{PATH}/docs/errors#not_found")
    status, headers, _ = ask(port, "GET", PATH)
    assert (status, headers["Location"]) == (301, f"https://{HOST}:{port}{PATH}/")


@pytest.mark.slow
def test_imports_come_through(port):
    _, _, body = ask(port, "POST", f"{PATH}/api/login", headers={"Content-Type": "application/json"},
                     body=json.dumps({"email": "admin@example.org", "password": PASSWORD}).encode())
    headers = {"Authorization": f"Bearer {json.loads(body)['access_token']}", "Content-Type": "application/x-ndjson"}
    lines = b"\n".join(json.dumps({"title": "T", "slug": f"s-{number}", "body": "x" * 100_000}).encode()
                       for number in range(30))
    status, _, body = ask(port, "POST", f"{PATH}/api/v1/articles/import?on_error=skip", lines, headers)
    assert status == 200, body


@pytest.mark.slow
def test_the_endpoints_of_authzen_are_where_its_well_known_address_says(port):
    """OpenID AuthZEN puts the path of a service behind that address."""
    for path in (f"/.well-known/authzen-configuration{PATH}", f"{PATH}/.well-known/authzen-configuration"):
        status, _, body = ask(port, "GET", path)
        told = json.loads(body)
        assert status == 200 and told.pop("policy_decision_point") == BASE
        assert told and all(url.startswith(f"{BASE}/access/v1/") for url in told.values())
