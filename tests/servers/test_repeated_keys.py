"""A repeated `Idempotency-Key` on both servers, which read the head of a request before its body."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from tests.incidents.load import SERVERS
from tests.running import PASSWORD, Instance

pytestmark = pytest.mark.slow

KEY = {"Idempotency-Key": "behind-a-server"}


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Instance:
    """One database is enough, because these tests are about the server."""
    return Instance(tmp_path_factory.mktemp("made") / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()


def importing(service, token, lines, *, chunked):
    """Sends an import. Returns (status, body, True for a replay). Waitress checks the head of chunked ones first."""
    with closing(http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=60)) as connection:
        measured = {"Transfer-Encoding": "chunked"} if chunked else {}
        connection.request("POST", "/api/articles/import", iter([lines]) if chunked else lines, encode_chunked=chunked,
                           headers={**KEY, **measured, "Authorization": f"Bearer {token}",
                                    "Content-Type": "application/x-ndjson"})
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers["Idempotency-Replayed"]


@pytest.mark.parametrize("server", SERVERS)
def test_who_was_demoted_is_answered_no_longer(instance, server):
    email = f"{server}@example.org"
    assert instance.run("user", "add", email, "--role", "editor", "--password-file", "-",
                        input=PASSWORD).returncode == 0
    with instance.served(*SERVERS[server]) as service:
        admin, editor, other = service.log_in(), service.log_in(email), service.log_in(email)
        article = {"title": "t", "slug": f"behind-{server}", "body": "b"}
        status, made = service.call("POST", "/api/articles", article, editor, KEY)
        path = f"/api/articles/{made['id']}"
        assert (status, service.call("POST", "/api/articles", article, editor, KEY)) == (201, (201, made))
        assert service.call("POST", "/api/articles", article, other, KEY)[0] == 409  # a session of its own
        published = service.call("POST", f"{path}/publish", {}, editor, KEY)
        assert service.call("POST", f"{path}/publish", {}, editor, KEY) == published
        line = json.dumps({**article, "slug": f"imported-{server}"}).encode()
        chunked = server == "waitress"  # granian refuses them
        first, again = [importing(service, editor, line, chunked=chunked) for _ in range(2)]
        assert (first[0], again) == (200, (200, first[1], "true"))

        assert service.call("PATCH", f"/api/users/{made['owner_id']}", {"role": "user"}, admin)[0] == 200
        assert service.call("POST", f"{path}/publish", {}, editor, KEY)[1]["code"] == "forbidden"
        assert importing(service, editor, line, chunked=chunked)[0] == 403
        assert service.call("POST", "/api/articles", article, editor, KEY)[0] == 201  # still their own
        assert service.call("DELETE", path, None, admin)[0] == 204
        assert service.call("POST", "/api/articles", article, editor, KEY)[1]["code"] == "not_found"
