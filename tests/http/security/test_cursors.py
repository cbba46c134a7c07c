"""A cursor is accepted only unchanged, for its own list, for a day."""

import base64
import hashlib
import json
import string

import pytest

from gatepost.http.security.cursors import (
    MAX_AGE,
    CursorExpired,
    CursorMismatch,
    Cursors,
    InvalidCursor,
    fingerprint,
)

OLD, NEW = "o" * 32, "n" * 32
PLACE = (("2026-11-21T08:39:30.123456Z", "01930000-0000-7000-8000-000000000001"), "2026-11-21T09:00:00.000000Z")
QUESTION = fingerprint(filters={"status": "published"}, sort="-created_at", q=None, tenant="default")
URL_SAFE = string.ascii_letters + string.digits + "-_.~"


class Clock:
    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def cursors(clock):
    return Cursors([NEW, OLD], clock=clock)


@pytest.fixture
def text(cursors):
    return cursors.write("articles", QUESTION, *PLACE)


def place(cursors, text):
    """Position and snapshot of a cursor."""
    cursor = cursors.read(text, "articles", QUESTION)
    return cursor.position, cursor.snapshot


@pytest.mark.parametrize("snapshot", [None, PLACE[1]])
@pytest.mark.parametrize("position", [
    PLACE[0],
    ("id-only",),
    (None, "01930000-0000-7000-8000-000000000001"),
    (-(2**63), True, "naïve \"quoted\" \u2028 text", "id"),
])
def test_what_is_written_is_read_back(cursors, position, snapshot):
    assert place(cursors, cursors.write("articles", QUESTION, position, snapshot)) == (position, snapshot)


@pytest.mark.parametrize("backward", [False, True])
def test_a_cursor_writes_the_others_of_its_walk(cursors, text, backward):
    start = cursors.begin("articles", QUESTION, PLACE[1])
    assert (start.position, start.snapshot, start.backward) == (None, PLACE[1], False)
    cursor = cursors.read(start.at(PLACE[0]), "articles", QUESTION, backward=backward)
    assert (cursor.position, cursor.snapshot, cursor.backward) == (*PLACE, backward)
    assert cursor.at(PLACE[0]) == start.at(PLACE[0]) == text
    assert place(cursors, cursor.at(("another",))) == (("another",), PLACE[1])


def test_a_cursor_needs_no_escaping_in_a_url(text):
    assert set(text) <= set(URL_SAFE)


def test_the_signature_is_a_keyed_blake2b_of_the_rest(text):
    key = hashlib.blake2b(NEW.encode(), person=b"gatepost.cursor").digest()
    given = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert given[:24] == hashlib.blake2b(given[24:], key=key, digest_size=24).digest()
    assert json.loads(given[24:])[0] == "articles"


def test_every_change_of_a_single_character_is_invalid(cursors, text):
    for at, original in enumerate(text):
        for other in set(URL_SAFE + "+/= \n\x00é") - {original}:
            with pytest.raises(InvalidCursor):
                cursors.read(text[:at] + other + text[at + 1:], "articles", QUESTION)


def test_every_truncation_is_invalid(cursors, text):
    for at in range(len(text)):
        for part in (text[:at], text[at + 1:] if at else "", text[:at] + text[at + 1:]):
            with pytest.raises(InvalidCursor):
                cursors.read(part, "articles", QUESTION)


@pytest.mark.parametrize("change", [
    lambda text: text + "=",
    lambda text: text + "A",
    lambda text: text + "\n",
    lambda text: " " + text,
    lambda text: "." + text,
    lambda text: text.swapcase(),
    lambda text: text + "\ud800",
    lambda text: "😀" + text,
    lambda text: "A" * 100_000,
    lambda text: text[:32],
    lambda text: "A" * 32 + text[32:],
    lambda text: text + "====",
    lambda text: text[:32] + text,
])
def test_other_texts_are_invalid(cursors, text, change):
    with pytest.raises(InvalidCursor):
        cursors.read(change(text), "articles", QUESTION)


def test_a_cursor_of_another_collection_is_a_mismatch(cursors, text):
    with pytest.raises(CursorMismatch):
        cursors.read(text, "products", QUESTION)


@pytest.mark.parametrize("other", [
    {"filters": {"status": "draft"}},
    {"filters": {}},
    {"filters": {"status": "published", "title__contains": ""}},
    {"sort": "created_at"},
    {"q": ""},
    {"q": "default"},
    {"tenant": "another"},
])
def test_a_cursor_of_another_question_is_a_mismatch(cursors, text, other):
    asked = {"filters": {"status": "published"}, "sort": "-created_at", "q": None, "tenant": "default"}
    with pytest.raises(CursorMismatch):
        cursors.read(text, "articles", fingerprint(**{**asked, **other}))


def test_the_order_in_which_filters_are_written_does_not_matter():
    one, other = ({"a": 1, "b": ["x", "y"]}, {"b": ["x", "y"], "a": 1})
    assert fingerprint(filters=one, sort="a", q=None, tenant="t") == fingerprint(
        filters=other, sort="a", q=None, tenant="t")


def test_a_cursor_lives_for_a_day(cursors, clock, text):
    clock.time += MAX_AGE
    assert place(cursors, text) == PLACE
    clock.time += 1
    with pytest.raises(CursorExpired):
        cursors.read(text, "articles", QUESTION)


@pytest.mark.parametrize(("written_in", "read_in"), [("", "0badcafe"), ("0badcafe", "0badf00d")])
def test_a_cursor_ends_with_its_epoch(cursors, written_in, read_in):
    cursors.epoch = written_in
    text = cursors.write("articles", QUESTION, *PLACE)
    assert place(cursors, text) == PLACE
    cursors.epoch = read_in
    with pytest.raises(CursorExpired):
        cursors.read(text, "articles", QUESTION)


def test_a_rotated_key_is_accepted_until_it_leaves_the_ring(clock):
    before = Cursors([OLD], clock=clock).write("articles", QUESTION, *PLACE)
    during = Cursors([NEW, OLD], clock=clock)
    assert place(during, before) == PLACE
    after = Cursors([NEW], clock=clock)
    assert place(after, during.write("articles", QUESTION, *PLACE)) == PLACE
    with pytest.raises(InvalidCursor):
        after.read(before, "articles", QUESTION)


@pytest.mark.parametrize("ring", [[], [""], [NEW, b""]])
def test_an_empty_secret_is_refused(ring):
    with pytest.raises(ValueError, match="secret"):
        Cursors(ring)


def test_the_codes_are_those_of_the_contract():
    assert [error.code for error in (InvalidCursor, CursorMismatch, CursorExpired)] == [
        "invalid_cursor", "cursor_mismatch", "cursor_expired"]
