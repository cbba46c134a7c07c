"""Invariants over lists, groups, times, truth values, parameters and functions of plugins."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from policies import PolicyError
from policies.loading.loader import Broken, from_files
from policies.syntax.vocabulary import Function
from tests.policies.invariants.test_invariants import files, refused
from tests.policies.shipped_vocabulary import VOCABULARY

BRANCHES = (
    "p.when == 'language:' + r.obj.language",
    "p.when == 'translated' && (r.obj.language in['de', 'en'])",
    "p.when == 'team' && inGroup(r.sub, r.obj.department)",
    "p.when == 'press' && inGroup(r.sub, 'press')",
    "p.when == 'press_desk' && inGroup(r.sub, 'press') && r.obj.department == 'press'",
    "p.when == 'before_june' && r.env.now < '2026-06-01T00:00:00.000000Z'",
    "p.when == 'before_the_30th' && r.env.date < '2026-05-31'",
    "p.when == 'before_june_here' && r.env.date < '2026-06-01'",
    "p.when == 'debt' && r.obj.total < -1",
    "p.when == 'deep_debt' && r.obj.total <= -2",
    "p.when == 'some_debt' && r.obj.total <= -1",
    "p.when == 'enabled' && r.obj.active == 1",
    "p.when == 'any' && (r.obj.active == 1 || r.obj.active == 0)",
    "p.when == 'moving' && (r.obj.status in['approved', 'shipped'])",
    "p.when == 'shipped' && r.obj.status == 'shipped'",
    "p.when == 'ended' && (r.obj.status in['shipped', 'completed'])",
)
MODEL = "".join(f"    {branch} || \\\n" for branch in BRANCHES)
# The invariant, the condition of a rule that keeps it, that of a rule that breaks it, and the example.
JUDGED = {
    "a parameter": ("atmost, user, article.export, language:de", "language:de", "language:en", "language is en"),
    "a parameter of a list": ("atmost, user, article.export, translated", "language:en", "language:fr",
                              "language is fr"),
    "the group of a row": ("atmost, user, order.export, team", "press_desk", "press",
                           "department is other, the caller is in the group press, the caller is not in the group "
                           "other"),
    "guests are in no group": ("never, guest, order.export", "team", "before_june",
                               "the time is 2026-05-31T23:59:59.999999Z"),
    "a date is another time in each zone": (
        "atmost, user, order.export, before_june", "before_the_30th", "before_june_here",
        "the time is 2026-06-01T00:00:00.000000Z, the date is 2026-05-31, a Sunday"),
    "less than nothing": ("atmost, user, order.export, debt", "deep_debt", "some_debt", "total is -1"),
    "a truth value": ("atmost, support, user.manage, enabled", "enabled", "any", "active is 0"),
    "a list": ("atmost, user, order.export, moving", "shipped", "ended", "status is completed"),
}


@pytest.mark.parametrize(("invariant", "kept", "breaking", "example"), JUDGED.values(), ids=JUDGED)
def test_a_condition_that_gives_more_than_the_invariant_is_refused_with_an_example(
    invariant: str, kept: str, breaking: str, example: str
) -> None:
    _, who, act, *_ = invariant.split(", ")
    assert refused(invariant, "", "", MODEL) == []
    assert refused(invariant, f"p, {who}, {act}, {kept}, allow", "", MODEL) == []
    [finding] = refused(invariant, f"p, {who}, {act}, {breaking}, allow", "", MODEL)
    finding = re.sub(r" \(and \d more like that\)", "", finding)  # permissions with this fallback
    assert finding == (f"own.csv:1: with this rule {who} may {act}; invariants.csv:1 (`{invariant}`) forbids this; "
                       f"for example: {example}")


def test_what_is_promised_for_one_parameter_no_other_gives() -> None:
    promise = "always, user, article.export, language:de"
    assert refused(promise, "p, user, article.export, translated, allow", "", MODEL) == []
    assert refused(promise, "p, user, article.export, language:en, allow", "", MODEL) == [
        "invariants.csv:1: user may not article.export: no rule gives it; for example: language is de"]


@pytest.mark.parametrize(("line", "words"), [
    ("atmost, user, article.export, language", "`language` takes a parameter: write language: and letters"),
    ("atmost, user, article.export, language:", "`language` takes a parameter: write language: and letters"),
    ("atmost, user, article.export, language:undefined", "not `undefined`"),
    ("atmost, user, article.export, moving:de", "`moving` takes no parameter; write moving"),
    ("atmost, user, order.export, language:de", "order has no column language"),
])
def test_a_parameter_is_read_as_on_the_line_of_a_rule(line: str, words: str) -> None:
    with pytest.raises(PolicyError, match="invariants.csv:2") as error:
        from_files(files(f"# first\n{line}", "", "", MODEL), VOCABULARY)
    assert words in str(error.value)


def test_the_guilty_line_is_found_without_asking_a_plugin() -> None:
    """The function may return anything for an invented request. Loading calls it first to detect failures."""
    asked: list[tuple[object, ...]] = []

    def near(*given: object) -> bool:
        asked.append(given)
        return True

    vocabulary = replace(VOCABULARY, functions={"near": Function("near", (("obj", "note"),), (), near, near)})
    model = "    p.when == 'near' && near(r.sub, r.obj, r.env) || \\\n"
    from_files(files("", "p, user, order.export, near, allow", "", model), vocabulary)
    by_loading = list(asked)
    with pytest.raises(Broken) as error:
        from_files(files("never, user, order.export", "p, user, order.export, near, allow", "", model), vocabulary)
    assert [str(finding) for finding in error.value.findings] == [
        "own.csv:1: with this rule user may order.export; invariants.csv:1 (`never, user, order.export`) forbids "
        "this; for example: near(r.sub, r.obj, r.env) holds"]
    assert asked == by_loading * 2
