"""Request ids and trace ids."""

from __future__ import annotations

import pytest

from gatepost.http.protocol import trace

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.parametrize("sent", ["x", "a" * 128, "7f-3_b.Z", "0"])
def test_a_valid_request_id_is_echoed_in_header_and_body(client, sent):
    answer = client.get("/api/nope", headers={"X-Request-ID": sent})
    assert answer.headers["X-Request-ID"] == answer.get_json()["request_id"] == sent


@pytest.mark.parametrize("sent", ["", " ", "a b", "a" * 129, "<script>", "a;b", "é", "a/b", "\t"])
def test_an_invalid_request_id_is_replaced(client, sent):
    answer = client.get("/api/nope", headers={"X-Request-ID": sent})
    assert answer.headers["X-Request-ID"] == answer.get_json()["request_id"] != sent


def test_requests_without_an_id_get_one_each(client):
    assert len({client.get("/api/health/live").headers["X-Request-ID"] for _ in range(20)}) == 20


@pytest.mark.parametrize(("header", "expected"), [
    (f"00-{TRACE}-00f067aa0ba902b7-01", TRACE),
    (f"cc-{TRACE}-00f067aa0ba902b7-01-what-will-be", TRACE),
    (f"ff-{TRACE}-00f067aa0ba902b7-01", None),
    (f"00-{'0' * 32}-00f067aa0ba902b7-01", None),
    (f"00-{TRACE}-{'0' * 16}-01", None),
    (f"00-{TRACE.upper()}-00f067aa0ba902b7-01", None),
    (f"00-{TRACE}-00f067aa0ba902b7", None),
    ("", None),
    ("nonsense", None),
])
def test_a_traceparent_is_read_as_the_standard_says(app, header, expected):
    with app.test_request_context(headers={"traceparent": header}):
        assert trace.trace_id() == expected
