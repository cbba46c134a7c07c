"""`make bench`: the same rows under a long policy, and a picture with every rate."""

import shutil
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from benchmarks import bars, policy_size
from benchmarks.long_policy import lengthen
from benchmarks.policy import ME, NOON, files_of
from gatepost.commands.policy_files import policy_in
from policies import SHIPPED, Principal
from tests.running import cli

CALLER = Principal(ME, f"user:{ME}", "user", "t", None)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def long_policy(tmp_path):
    shutil.copytree(SHIPPED, tmp_path / "policies")
    assert lengthen(tmp_path / "policies", 1000) == 1000
    return tmp_path / "policies"


def test_the_long_policy_can_be_used_and_is_as_long_as_it_is_said_to_be(long_policy):
    checked = CliRunner().invoke(cli, ["policy", "check", str(long_policy)])
    assert checked.exit_code == 0, checked.output
    # A rule that gives a single user a permission of all users gets a warning.
    assert checked.output.splitlines()[-1].startswith("Fine: 1000 rules, ")


def test_the_caller_may_do_the_same_under_the_long_policy(long_policy):
    long, shipped = policy_in(long_policy), policy_in(SHIPPED)
    for permission in shipped.vocabulary.by_permission:
        assert long.plan(CALLER, permission, NOON) == shipped.plan(CALLER, permission, NOON), permission


def test_the_lines_of_the_long_policy_are_shared_among_as_many_persons_as_are_asked_for(tmp_path):
    shutil.copytree(SHIPPED, tmp_path / "policies")
    assert lengthen(tmp_path / "policies", 1000, 50) == 1000
    policy = policy_in(tmp_path / "policies")
    assert len({rule.sub for rule in policy.rules} - set(policy.roles.names)) == 50


@pytest.mark.parametrize("name", ["shipped", "another vocabulary"])
def test_each_figure_of_the_long_policy_is_measured(name):
    files, vocabulary = policy_size.policies()["shipped"] if name == "shipped" else files_of(50)
    figures = policy_size.measured(files, vocabulary)
    assert {"load", "first login", "lint", "matrix", "diff", "diff of own"} <= figures.keys()
    assert ({"reload", "check"} <= figures.keys()) is (name == "shipped")


def test_the_picture_has_a_bar_for_each_rate_and_a_ratio_wherever_the_peer_has_one():
    drawn = ElementTree.fromstring(bars.draw("Requests a second", "few & short", {
        "item": {"ours": 300.0, "theirs": 100.0}, "304": {"ours": 500.0}}))
    lengths = [float(one.get("width")) for one in drawn.iter(f"{SVG}rect") if one.get("x") == str(bars.LEFT)]
    assert lengths[1:] == [500.0, pytest.approx(500 / 3, abs=0.1), 500.0]  # the first explains a colour
    assert [one.text for one in drawn.iter(f"{SVG}tspan")] == ["3.0×"]
