"""A query string is split into a cursor and the rest only if the split does not change its meaning."""

from itertools import permutations

import pytest
from werkzeug.wrappers import Request

from gatepost.http.schemas.fields import StrictSchema
from gatepost.http.schemas.parameters import Number
from gatepost.http.schemas.validation import split
from gatepost.http.security.cursors import NAMES, parameters

SCHEMA = StrictSchema.from_dict(parameters(), name="Pages")()
CURSOR = "W10-_w.Zm9v"


@pytest.mark.parametrize(("query", "rest", "parameter"), [
    (f"after={CURSOR}", "", "after"),
    (f"limit=20&after={CURSOR}", "limit=20", "after"),
    (f"limit=20&before={CURSOR}&sort=title", "limit=20&sort=title", "before"),
    (f"title__contains=50%25&cursor={CURSOR}", "title__contains=50%25", "cursor"),
    (f"title=after={CURSOR}&after={CURSOR}", f"title=after={CURSOR}", "after"),
    (f"created_at__after=x&after={CURSOR}", "created_at__after=x", "after"),
])
def test_a_cursor_is_taken_out(query, rest, parameter):
    assert split(SCHEMA, query.encode()) == (rest.encode(), parameter, CURSOR)


@pytest.mark.parametrize("query", [
    "",
    "limit=20",
    "after",
    "after=",
    "after=%57",
    "after=a+b",
    "after=a=b",
    "after=a~b",
    f"After={CURSOR}",
    f"%61fter={CURSOR}",
    f"title=after={CURSOR}",
    f"after={CURSOR}&after={CURSOR}",
    f"cursor={CURSOR}&after={CURSOR}",
    f"cursor={CURSOR}&after=",
    f"cursor={CURSOR}&after",
    f"cursor={CURSOR}&%61fter={CURSOR}",
    f"%62efore&cursor={CURSOR}",
    f"after={CURSOR}\xe9",
])
def test_a_query_without_exactly_one_plain_cursor_stays_whole(query):
    assert split(SCHEMA, query.encode("latin-1")) == (query.encode("latin-1"), None, "")


@pytest.mark.parametrize("schema", [None, StrictSchema.from_dict({"limit": Number()}, name="Numbers")()])
def test_a_query_whose_schema_has_no_cursor_stays_whole(schema):
    query = f"limit=20&after={CURSOR}".encode()
    assert split(schema, query) == (query, None, "")


PIECES = ("limit=2", "", f"after={CURSOR}", "after=x", "before=y", "cursor=", "cursor", "cursor=%57", "%61fter=x",
          "title=%26after%3Dx", "title=before=y", "+after=x", "=x", "%=x")


def test_the_parts_mean_what_they_meant_together():
    for pieces in permutations(PIECES, 3):
        whole = "&".join(pieces).encode()
        rest, parameter, cursor = split(SCHEMA, whole)
        apart = arguments(rest)
        if parameter is not None:
            assert not set(NAMES) & {name for name, _ in apart}, whole
            apart.append((parameter, cursor))
        assert sorted(apart) == sorted(arguments(whole)), whole


def arguments(query):
    return list(Request({"QUERY_STRING": query.decode()}).args.items(multi=True))
