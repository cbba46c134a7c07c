"""The twenty wishes of docs/policy/workshop.md: one policy on the small rule set that does what the page says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from policies import Policy, load
from policies.cases.case_file import read_suite
from policies.cases.cases import Coverage, run
from policies.lint.warnings import warnings
from policies.loading.rule_sets import SMALL, load_set
from tests.policies.editing import shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.policies.test_recipes import EDIT, Recipe
from tests.running import ROOT

TODAY = datetime(2026, 11, 18, 10, tzinfo=UTC)
PAGE = (ROOT / "docs/policy/workshop.md").read_text()
CASES = Path(__file__).with_name("workshop.yaml").read_text()
_WISH = re.compile(r"^## (\d+)\. (.+?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
WISHES = {int(number): text for number, text in _WISH.findall(PAGE)}
WITHOUT_RULES = {1: "Nothing to add", 8: "Nothing to add", 20: "Not possible"}

# Denials that everybody is meant to inherit, of what has an owner; and lists of a department.
EXPECTED = ("inherit user, and this denies them what", "this denies nothing where owner_id is missing",
            "no index of order serves lists by department")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    directory = shipped_copy(tmp_path_factory.mktemp("workshop") / "policies", invariants=True, rules=SMALL)
    Recipe("workshop", PAGE, CASES).apply(directory)
    return load(directory, VOCABULARY)


def test_the_page_has_twenty_wishes_and_says_of_each_what_to_add() -> None:
    assert [*WISHES] == [*range(1, 21)]
    assert {number for number, text in WISHES.items() if not EDIT.search(text)} == WITHOUT_RULES.keys()
    assert [number for number, phrase in WITHOUT_RULES.items() if f"\n\n{phrase}" not in WISHES[number]] == []


def test_every_wish_that_has_rules_has_a_case_with_its_number() -> None:
    named = {int(number) for number in re.findall(r'name: "?(\d+):', CASES)}
    assert named == {*range(1, 20)}


def test_all_wishes_work_in_one_policy_in_each_time_zone(workshop: Policy) -> None:
    for zone in map(ZoneInfo, ("UTC", "America/Los_Angeles", "Pacific/Kiritimati")):
        suite = read_suite(CASES, "workshop.yaml", VOCABULARY, zone=zone)
        assert run(load_set(SMALL, VOCABULARY), suite).failures
        assert run(workshop, suite).findings == []


def test_the_cases_reach_every_line_that_the_page_adds(workshop: Policy) -> None:
    before = {(rule.sub, rule.act, rule.when, rule.eft) for rule in load_set(SMALL, VOCABULARY).rules}
    coverage = Coverage(workshop)
    run(workshop, read_suite(CASES, "workshop.yaml", VOCABULARY), coverage)
    missed = {(finding.file, finding.line) for finding in coverage.missed()}
    assert [str(rule) for rule in workshop.rules if (rule.file, rule.line) in missed
            and (rule.sub, rule.act, rule.when, rule.eft) not in before] == []


def test_the_policy_has_no_warning_beyond_its_purpose(workshop: Policy) -> None:
    found = [finding.message for finding in warnings(workshop, at=TODAY)]
    assert [phrase for phrase in EXPECTED if not any(phrase in message for message in found)] == []
    assert [message for message in found if not any(phrase in message for phrase in EXPECTED)] == []
