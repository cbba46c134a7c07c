"""One mailbox has one spelling (RFC 5321, RFC 6531, UTS 46). An address that no mailbox can have is invalid."""

from __future__ import annotations

import sys
import unicodedata

import idna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.records import mailboxes
from models.records.mailboxes import LONGEST, fold, former_spelling, in_punycode, mailbox, normalize, spellings

ATEXT = "abcxyz019!#$%&'*+/=?^_`{|}~-"
ANYTHING = st.text(st.characters(exclude_categories=()))  # lone surrogates, too
# RFC 5321: Dot-string = Atom *("." Atom); RFC 6531 adds what is not ASCII
LOCAL = st.lists(st.text(st.sampled_from(ATEXT + "éöç漢"), min_size=1, max_size=6), min_size=1, max_size=3).map(
    ".".join)
LABELS = ("münchen", "straße", "例え", "пример", "παράδειγμα", "faß", "ab-c", "x1", "xn--mnchen-3ya", "1")
DOMAIN = st.lists(st.sampled_from(LABELS), max_size=3).map(lambda labels: ".".join([*labels, "org"]))
ADDRESS = st.builds("{}@{}".format, LOCAL, DOMAIN)


def by_idna(domain: str) -> str | None:
    """Returns the domain as the library encodes it; None if it refuses it, or the domain is not one of a mailbox."""
    try:
        ascii = idna.encode(domain, uts46=True, std3_rules=True).decode()
        return None if ascii.endswith(".") or ascii.rpartition(".")[2].isdigit() else idna.decode(ascii)
    except UnicodeError:
        return None


def wide(text: str) -> str:
    """Returns the text in full-width letters, as input methods of East Asia write them."""
    return "".join(chr(ord(one) + 0xfee0) if "!" <= one <= "~" and one not in ".@" else one for one in text)


def punycode(address: str) -> str:
    local, _, domain = address.rpartition("@")
    return f"{local}@{idna.encode(domain, uts46=True).decode()}"


WRITTEN = (str.upper, str.title, wide, lambda text: unicodedata.normalize("NFD", text), punycode,
           lambda text: punycode(text).upper(), lambda text: f" {text}\n",
           lambda text: text.partition("@")[0] + "@" + text.partition("@")[2].replace(".", "。"))


@given(ADDRESS, st.sampled_from(WRITTEN))
def test_however_a_mailbox_is_written_it_is_one(address, write):
    stored, written = mailbox(address), write(address)
    if "ß" in written or "ß" not in address:  # a capital letter makes no difference
        assert mailbox(written) == stored
    assert mailbox(stored) == stored == mailbox(in_punycode(stored)) == mailbox(former_spelling(stored))


@given(st.text(st.sampled_from("abz019-._ :!xn"), max_size=70))
def test_a_domain_in_ascii_is_what_the_library_says(domain):
    assert normalize(f"a@{domain}") == (f"a@{found}" if (found := by_idna(domain)) is not None else None)


@given(st.lists(st.from_regex(r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,62}[a-zA-Z0-9])?", fullmatch=True), min_size=1,
                max_size=5))
def test_labels_of_letters_digits_and_hyphens_are_what_the_library_says(labels):
    domain = ".".join(labels)
    found = by_idna(domain) if len(domain) + 2 <= LONGEST else None
    assert normalize(f"a@{domain}") == (None if found is None else f"a@{found}")


@given(ANYTHING)
def test_a_domain_is_what_the_library_says(domain):
    found = None if "@" in domain else by_idna(domain)
    assert normalize(f"a@{domain}") == (None if found is None else f"a@{found}")


@given(st.one_of(ANYTHING, st.builds("{}@{}".format, ANYTHING, st.one_of(ANYTHING, DOMAIN)), ADDRESS))
def test_whatever_is_sent_has_a_spelling_that_stays(text):
    stored = mailbox(text)
    assert mailbox(stored) == stored
    assert stored in spellings(text)
    # Guesses with all spellings of one account count together.
    assert {mailbox(one).casefold() for one in spellings(text)} == {stored.casefold()}
    assert normalize(text) in (None, stored)


def test_every_character_alone_in_a_local_part_or_a_label_has_a_spelling_that_stays():
    wrong = []
    for code in (*range(0xd800), *range(0xe000, 0x30000, 7)):
        for text in (f"a{chr(code)}@x.org", f"{chr(code)}a@x.org"):
            stored = mailbox(text)
            if mailbox(stored) != stored or mailbox(former_spelling(text)).casefold() != stored.casefold():
                wrong.append(f"{code:x}")
    assert wrong == []


@pytest.mark.parametrize("address", [
    "", "@", "a", "a@", "@b.org", "a@b..org", "a@.b.org", "a@b.org.", "a@.", ".a@b.org", "a.@b.org", "a..b@b.org",
    "a@b@c.org", "a b@c.org", "a@b c.org", " a@b.org", "a@b.org ", "a@b.org\n", "a\x00@b.org", "a\u200b@b.org",
    "a\u3000b@c.org", '"a"@b.org', '"a b"@c.org', "(x)a@b.org", "a@b.org(x)", "a@[127.0.0.1]", "a@[IPv6:::1]",
    "a@127.0.0.1", "a@1", "a@b.1", "a@-b.org", "a@b-.org", "a@b_c.org", "a@ab--c.org", "a@xn--a.org", "a@xn--.org",
    "a@xn--MUNCHEN-.org", "a@😀.org", "a@b!.org", "a,b@c.org", "a@b,c.org", "a\ud800@b.org", "a@\udfff.org",
    f"{'a' * 65}@b.org", f"{'é' * 33}@b.org", f"a@{'b' * 64}.org", f"a@{'é' * 60}.org", f"a@{'b.' * 126}org",
    f"a@{'é.' * 40}org", "a＠b.org", "…@b.org", "a℀@c.org@", "a@b。。org", "a@⒈org",
])
def test_an_address_that_no_mailbox_can_have_is_none(address):
    assert normalize(address) is None
    assert mailbox(address) == former_spelling(address)


@pytest.mark.parametrize(("address", "stored"), [
    ("Noor@Example.ORG", "noor@example.org"), ("o'neill+a/b=c@x-1.example", "o'neill+a/b=c@x-1.example"),
    ("root@localhost", "root@localhost"), ("ｎｏｏｒ@ｅｘａｍｐｌｅ.ｏｒｇ", "noor@example.org"),
    ("noor@MÜNCHEN.de", "noor@münchen.de"), ("noor@xn--mnchen-3ya.de", "noor@münchen.de"),
    ("Strauß@Straße.de", "strauß@straße.de"), ("rene\u0301@b.org", "ren\u00e9@b.org"), ("名@例え.jp", "名@例え.jp"),
    (f"{'a' * 64}@b.org", f"{'a' * 64}@b.org"), (f"a@{'b' * 63}.org", f"a@{'b' * 63}.org"),
    (f"a@{'b.' * 124}orgs", f"a@{'b.' * 124}orgs"), ("a@b.1c", "a@b.1c"),
])
def test_an_address_is_stored_in_one_spelling(address, stored):
    assert normalize(address) == stored


def test_a_long_text_is_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(mailboxes, "_labels", None)
    monkeypatch.setattr(mailboxes, "fold", None)
    assert normalize("é" * 200 + "@" + "é." * 40_000 + "org") is None


def test_the_beginning_of_an_address_is_folded_as_far_as_it_can_be_known():
    assert fold("Ｎoor@MÜ") == "noor@mü"


def test_ascii_needs_no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "idna", None)
    assert normalize("Noor.Visser+shop@mail.example-1.org") == "noor.visser+shop@mail.example-1.org"


def test_an_account_is_sought_as_it_is_typed_before_its_mailbox():
    assert spellings(" Noor@XN--MNCHEN-3YA.de") == (
        "Noor@XN--MNCHEN-3YA.de", "noor@xn--mnchen-3ya.de", "noor@münchen.de")
    assert spellings("noor@münchen.de") == ("noor@münchen.de", "noor@xn--mnchen-3ya.de")
    assert spellings("noor@example.org") == ("noor@example.org",)
