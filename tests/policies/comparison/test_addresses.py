"""The prover's addresses are possible addresses of requests, and represent all of them."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.comparison.candidates import addresses_near, elsewhere
from policies.comparison.prover import Comparison, Prover
from policies.comparison.subjects import Subject, allowed
from policies.syntax.addresses import normalized, within
from tests.policies.comparison.edited import edited

NEAR = ("::ffff:0:0/95", "::fffe:0:0/95", "::/80", "::/79", "::/0", "0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/31",
        "192.168.0.0/16", "fd00::/64", "fd00::/8")


def _network(address, shorter: int) -> str:
    return str(ip_network(f"{address}/{max(0, address.max_prefixlen - shorter)}", strict=False))


# Small and large networks, of both kinds, nested and adjacent.
NETWORKS = st.lists(st.sampled_from(NEAR) | st.builds(_network, st.ip_addresses(), st.integers(0, 128))
                    | st.builds(_network, st.ip_addresses(network="10.0.0.0/29"), st.integers(0, 3))
                    | st.builds(_network, st.ip_addresses(network="::fffe:ffff:fff8/125"), st.integers(0, 40)),
                    max_size=5)
ADDRESSES = (st.ip_addresses() | st.ip_addresses(network="10.0.0.0/28") | st.ip_addresses(network="::/32")
             | st.ip_addresses(network="::fffe:ffff:fff0/124") | st.ip_addresses(network="::1:0:0:0/124"))


@given(NETWORKS, st.lists(ADDRESSES, min_size=1, max_size=20))
def test_each_address_has_one_in_the_same_networks_among_those_that_are_tried(networks, addresses):
    tried = addresses_near((), networks, 1)
    assert [address for address in tried if normalized(address) != address] == []
    known = {tuple(within(address, network) for network in networks) for address in tried}
    asked = [address for one in addresses if (address := normalized(str(one))) == str(one)]
    assert [address for address in asked if tuple(within(address, name) for name in networks) not in known] == []


def test_a_network_of_ipv6_has_no_ipv4_client_in_it():
    """No client has an address between ::ffff:0:0 and ::ffff:ffff:ffff: those clients have IPv4 addresses."""
    branch = "p.when == 'trial' && ipMatch(r.env.ip, '::fffe:0:0/95') && !ipMatch(r.env.ip, '::fffe:0:0/96')"
    policy = edited("p, user, order.export, trial, allow", conditions=[branch])
    subject = Subject("user")
    assert Prover(policy).example(allowed(policy, subject, "order.export"), subject, "order.export") is None


def test_an_address_that_is_compared_with_an_id_is_one_all_the_same():
    conditions = ["p.when == 'trial' && (r.env.ip == r.sub.key || ipMatch(r.env.ip, '10.0.0.0/8'))",
                  "p.when == 'other' && r.env.ip == r.sub.key"]
    one, other = (edited(f"p, user, order.export, {word}, allow", conditions=conditions)
                  for word in ("trial", "other"))
    found = Comparison(one, other).between(Subject("user"), "order.export")
    assert found.lost is not None and within(found.lost.environment.ip, "10.0.0.0/8")


@pytest.mark.parametrize("networks", [
    (), ("10.0.0.0/8",), ("192.168.0.0/16", "fd00::/8"), ("192.168.0.0/16", "0.0.0.0/1", "::/0"),
    ("0.0.0.0/0", "::/0")])
def test_elsewhere_is_in_no_network_of_the_policies_where_there_is_such_a_place(networks):
    branches = [f"p.when == 'net{number}' && ipMatch(r.env.ip, '{name}')" for number, name in enumerate(networks)]
    policy = edited(conditions=branches)
    address = elsewhere(policy, edited())
    assert (address is None) is ("0.0.0.0/0" in networks)
    assert not any(within(address, name) for name in (*networks, "10.0.0.0/8"))
