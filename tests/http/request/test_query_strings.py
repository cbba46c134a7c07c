"""Query strings by their grammar (RFC 3986, and of forms by WHATWG): read, or refused with a 400, in any spelling."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

NAMES = ["limit", "cursor", "sort", "q", "status", "title__contains", "created_at__gte", "status__in", "id__in", "page",
         "expand", "fields", "count", "version__lt", "owner_id", "nothing", "limit__in", "", "title__contains__in"]
VALUES = ["1", "20", "0", "-1", "x", "published", "draft,published", '"a,b",c', "2026-01-01T00:00:00Z", "-created_at",
          "01930000-0000-7000-8000-000000000011", "true", "a b", "\u00e9", "\u0130\u0131", "\U0001f600", "", "100%",
          "a+b"]
VALID = ["limit=3", "status=published", "status__in=draft,published", "title__contains=a b", "sort=-created_at",
         "created_at__gte=2026-01-01T00:00:00+00:00", "q=harbour"]
UNRESERVED = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~"
BOUNDED = settings(max_examples=120, deadline=None, derandomize=True, database=None,
                   suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def encoded(text: str) -> bytes:
    return b"".join(bytes([byte]) if chr(byte) in UNRESERVED else b"%%%02X" % byte for byte in text.encode())


def spellings(byte: int) -> st.SearchStrategy[bytes]:
    """The spellings of a byte in a name or value of a query."""
    ways = [b"%%%02X" % byte, b"%%%02x" % byte]
    if chr(byte) in UNRESERVED or chr(byte) in ",:@/?!$'()*":
        ways.append(bytes([byte]))
    if byte == 0x20:
        ways.append(b"+")
    return st.sampled_from(ways)


def spelled(text: str) -> st.SearchStrategy[bytes]:
    return st.tuples(*map(spellings, text.encode())).map(b"".join)


words = st.sampled_from(NAMES + VALUES) | st.text(max_size=6)
fields = st.sampled_from([name.encode() for name in NAMES]) | words.flatmap(spelled)
values = words.flatmap(spelled) | st.binary(max_size=6).map(lambda raw: raw.replace(b"&", b"").replace(b"#", b""))
pairs = st.tuples(fields, st.sampled_from([b"=", b"==", b""]), values).map(b"".join)
queries = st.lists(pairs | st.sampled_from([b"", b"%", b"%zz", b"%ff", b"=", b"&", b";a=1", b"\xff\xfe", b"limit[]=3"]),
                   max_size=5).map(b"&".join)


def ask(client: Any, query: bytes) -> Any:
    # As a server passes it: bytes as Latin-1, not decoded.
    return client.get("/api/articles", environ_overrides={"QUERY_STRING": query.decode("latin-1")})


@BOUNDED
@given(query=queries)
def test_any_query_is_answered_or_refused_with_a_reason(client, query: bytes) -> None:
    answer = ask(client, query)
    assert answer.status_code in (200, 400), (query, answer.text)
    if answer.status_code == 400:
        assert answer.mimetype == "application/problem+json"
        assert answer.get_json()["code"] in ("invalid_parameter", "unknown_parameter", "invalid_cursor",
                                             "invalid_header"), (query, answer.text)


@BOUNDED
@given(data=st.data())
def test_two_spellings_of_a_query_have_one_answer(client, data: st.DataObject) -> None:
    chosen = dict(one.split("=", 1) for one in data.draw(
        st.lists(st.sampled_from(VALID), min_size=1, max_size=3, unique=True)))
    query = b"&".join(data.draw(spelled(name)) + b"=" + data.draw(spelled(value)) for name, value in chosen.items())
    plain = b"&".join(encoded(name) + b"=" + encoded(value) for name, value in chosen.items())
    first, second = ask(client, plain), ask(client, query)
    assert first.status_code == second.status_code == 200, (plain, query, first.text, second.text)
    assert [row["id"] for row in first.get_json()["items"]] == [row["id"] for row in second.get_json()["items"]]
