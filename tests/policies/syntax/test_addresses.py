"""Addresses have one spelling, whatever a socket or a proxy writes."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.syntax.addresses import LONGEST, MAPPED, network, normalized, unmapped, within
from tests.addresses import FORMS

SPELLINGS = {
    "203.0.113.7": ("203.0.113.7", "203.0.113.7:443", "[203.0.113.7]:443", "::ffff:203.0.113.7", "::FFFF:CB00:7107",
                    "[::ffff:203.0.113.7]", "[::ffff:203.0.113.7]:443", "0:0:0:0:0:ffff:203.0.113.7"),
    "2001:db8::1": ("2001:db8::1", "2001:DB8::1", "2001:0db8:0:0:0:0:0:1", "[2001:db8::1]", "[2001:DB8::1]:443"),
    "fe80::1": ("fe80::1", "fe80::1%eth0", "[fe80::1%eth0]:443", "fe80::1%2"),
    "::1": ("::1", "[::1]:8000", "0:0:0:0:0:0:0:1"),
}
NONE = (
    None, "", "-", "unknown", "_hidden", "localhost", "203.0.113", "203.0.113.256", "203.0.113.07", "203.0.113.7:",
    "203.0.113.7:x", "203.0.113.7:123456", "203.0.113.7%eth0", "203.0.113.7/32", "203.0.113.7\n", " 203.0.113.7",
    "203.0.113.7, 203.0.113.8", "[203.0.113.7", "2001:db8::1]", "[]", "[[2001:db8::1]]", "2001:db8::1%", "::1::2",
    "٢٠٣.0.113.7", "203.0.113.7:٤٤٣", "2001:db8::1" + " " * LONGEST, "9" * 100_000,
)


def test_every_spelling_of_an_address_is_that_address():
    read = {spelling: normalized(spelling) for spellings in SPELLINGS.values() for spelling in spellings}
    assert read == {spelling: address for address, spellings in SPELLINGS.items() for spelling in spellings}


def test_what_is_no_address_is_none():
    assert [text for text in NONE if normalized(text) is not None] == []


@given(st.ip_addresses() | st.ip_addresses(network=str(MAPPED)))
def test_every_form_of_an_address_is_the_same_one_and_no_other(address):
    same = address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
    assert {normalized(form(same)) for form in FORMS} == {str(same)}
    assert normalized(str(same)) == str(same)


@given(st.text(max_size=80))
def test_whatever_the_text_is_it_is_an_address_or_none(text):
    address = normalized(text)
    assert address is None or (normalized(address) == address and str(ip_address(address)) == address)


@pytest.mark.parametrize(("name", "plain"), [
    ("::ffff:10.0.0.0/104", "10.0.0.0/8"), ("::ffff:a00:0/104", "10.0.0.0/8"), ("::ffff:10.1.2.3", "10.1.2.3/32"),
    ("::ffff:0:0/96", "0.0.0.0/0"), ("::/0", None), ("::/80", None), ("2001:db8::/32", None), ("10.0.0.0/8", None)])
def test_a_network_of_ipv4_addresses_in_ipv6_is_known(name, plain):
    assert unmapped(network(name)) == (None if plain is None else network(plain))


@given(st.ip_addresses(v=4), st.integers(0, 32))
def test_an_ipv4_network_and_its_mapped_spelling_have_the_same_addresses(address, length):
    mapped = network(f"::ffff:{address}/{96 + length}")
    assert unmapped(mapped) == network(f"{address}/{length}")
    assert within(str(address), f"{address}/{length}") and not within(str(address), f"::ffff:{address}/{96 + length}")


def test_nothing_is_within_a_network_that_is_no_address():
    assert [text for text in (None, "", "unknown") if within(text, "0.0.0.0/0") or within(text, "::/0")] == []
    assert not within(str(IPv4Address(1)), "::/0"), "an address of one kind is in no network of the other"
