"""A replay makes the decisions of the audit log again under two policies, and lists those that differ."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies import Policy, load
from policies.loading.loader import from_files
from policies.questions.evaluated import Answer, answer
from policies.questions.recorded import ALLOWED, HIDDEN, NOTHING, REFUSED, UNKNOWN, Entry, decisions
from policies.questions.replay import Replay, replay
from tests.policies.editing import add_line, remove_line, shipped_copy
from tests.policies.editing import replace as replace_text
from tests.policies.generated import MODELS, OF_PLUGINS, WITH_FUNCTIONS, assembled
from tests.policies.questions.recorded_weeks import Tally, compare, decided, tried
from tests.policies.shipped_vocabulary import VOCABULARY
from tests.samples import sampled

ZOE, BOB = "0199f3a0-0000-7000-8000-000000000001", "0199f3a0-0000-7000-8000-000000000002"
ARTICLE = "0199f3a0-0000-7000-8000-0000000000aa"
OWN_DRAFT = {"owner_id": ZOE, "status": "draft", "department": None}
COUNT = 30  # decisions of each model; the campaign takes more


def entry(**columns: Any) -> Entry:
    """An entry: Zoe, a user, was allowed to change her own draft. The arguments replace columns."""
    usual = Entry(id="1", time="2026-11-20T10:00:00.000000Z", tenant_id="t", principal=f"user:{ZOE}", role="user",
                  action="update", resource="article", resource_id=ARTICLE, result="allowed", reason=None, count=1,
                  facts={"obj": OWN_DRAFT, "new": {}, "shares": []})
    return replace(usual, **columns)


def refused(reason: str = "forbidden", **columns: Any) -> Entry:
    return entry(result="refused", reason=reason, **columns)


def the_answer(policy: Policy, row: Entry) -> Answer:
    (decision,) = decisions(row, VOCABULARY)
    return answer(policy, decision)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Policy:
    return load(shipped_copy(tmp_path_factory.mktemp("shipped") / "policies"), VOCABULARY)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


def place_of(file: Path, line: str) -> str:
    """Returns the place of a line, with any spaces between its columns."""
    lines = [one.replace(" ", "") for one in file.read_text().splitlines()]
    return f"{file.name}:{lines.index(line.replace(' ', '')) + 1}"


def replayed(shipped: Policy, directory: Path, *rows: Entry) -> Replay:
    return replay(shipped, load(directory, VOCABULARY), rows)


# As Casbin answers


@pytest.mark.parametrize("name", [*MODELS])
def test_the_flips_are_those_of_casbin_and_without_facts_nothing_is_answered_wrong(name: str) -> None:
    tally = Tally()
    tried(name, f"{name} 1", tally, COUNT)
    assert tally.decisions == COUNT


def test_of_the_shipped_rules_with_a_line_less_they_are_those_of_casbin(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "articles.csv", "p, user, article.update, own_draft, allow")
    remove_line(directory / "roles.csv", "g, owner, moderator")
    chance, tally = random.Random(3), Tally()
    near = ("article.update", "comment.update", "article.view", "comment.approve")
    week = [decided(chance, near) for _ in range(COUNT)]
    compare(shipped, load(directory, VOCABULARY), week, chance, tally)
    assert tally.flips


# Newly allowed and refused callers


def test_a_line_that_is_taken_away_refuses_whom_it_allowed_and_is_named(shipped: Policy, directory: Path) -> None:
    line = "p, user, article.update, own_draft, allow"
    place = place_of(directory / "articles.csv", line)
    remove_line(directory / "articles.csv", line)
    found = replayed(shipped, directory, entry(), entry(id="2"), entry(principal=f"user:{BOB}", role="admin"))
    assert found.as_json()["refused_now"] == {"count": 2, "groups": [{
        "who": f"user:{ZOE}", "permission": "article.update", "line": place, "count": 2,
        "examples": [{"id": id, "time": "2026-11-20T10:00:00.000000Z"} for id in ("1", "2")]}]}
    assert (found.decisions, found.unchanged) == (3, 1)


def test_a_new_line_lets_in_whom_it_allows_and_is_named(shipped: Policy, directory: Path) -> None:
    add_line(directory / "articles.csv", "p, user, article.delete, own, allow")
    place = place_of(directory / "articles.csv", "p, user, article.delete, own, allow")
    row = refused(action="delete", facts={"obj": {**OWN_DRAFT, "status": "published"}, "shares": []}, count=3)
    found = replayed(shipped, directory, row)
    assert found.as_lines()[2:5] == [
        f"+ article.delete: 3 let in by {place}", f"    for    user:{ZOE} (3)",
        "    as in  1 at 2026-11-20T10:00:00.000000Z",
    ]


def test_a_line_about_one_person_counts_for_that_person_alone(shipped: Policy, directory: Path) -> None:
    add_line(directory / "articles.csv", f"p, user:{ZOE}, article.update, always, deny")
    found = replayed(shipped, directory, entry(), entry(principal=f"user:{BOB}", facts={
        "obj": {**OWN_DRAFT, "owner_id": BOB}, "shares": []}))
    assert [(who, flip.count) for (_, who, _, _), flip in found.flips.items()] == [(f"user:{ZOE}", 1)]


def test_a_change_is_judged_once_more_as_the_row_became(shipped: Policy) -> None:
    moved = entry(facts={"obj": OWN_DRAFT, "new": {"owner_id": BOB}, "shares": []})
    assert the_answer(shipped, moved).result == REFUSED
    assert the_answer(shipped, entry()).result == ALLOWED


def test_the_rows_of_an_import_count_by_their_groups(shipped: Policy, directory: Path) -> None:
    add_line(directory / "products.csv", "p, manager, product.import, always, deny")
    row = entry(resource="product", action="import", resource_id=None, role="manager", facts={"rest": 5, "groups": [
        {"count": 7, "asked": ["product.import", "product.create"], "obj": {}, "shares": []}]})
    found = replayed(shipped, directory, row)
    assert (found.decisions, found.count("refused_now"), found.unknown) == (12, 7, 5)


def test_a_role_that_the_new_policy_lacks_is_refused(shipped: Policy) -> None:
    without = assembled(["p, guest, article.view, always, allow"])
    assert the_answer(without, entry(role="auditor")).result == REFUSED


def test_a_scope_line_that_is_taken_away_refuses_the_tokens_that_had_it(shipped: Policy, directory: Path) -> None:
    place = place_of(directory / "articles.csv", "p2, write:articles, article.update")
    remove_line(directory / "articles.csv", "p2, write:articles, article.update")
    row = entry(facts={**entry().facts, "sub": {"kind": "service"}, "scopes": ["read:articles", "write:articles"]})
    found = replayed(shipped, directory, row)
    assert [key[3] for key in found.flips] == [place]


def test_a_login_is_judged_as_the_guest_who_asked_for_it(shipped: Policy, directory: Path) -> None:
    remove_line(directory / "session.csv", "p, guest, session.create, always, allow")
    row = entry(resource="session", action="create", resource_id=None,
                facts={"sub": {"key": "guest", "role": "guest"}, "obj": None})
    assert [key[1] for key in replayed(shipped, directory, row).flips] == ["guest"]


# What is hidden


@pytest.mark.parametrize(("row", "wanted"), [
    (refused("not_found", facts={"obj": {**OWN_DRAFT, "owner_id": BOB}, "shares": []}), HIDDEN),
    (refused("not_found", facts={"obj": "absent"}), HIDDEN),
    (refused("unauthenticated", principal="guest", role="guest", facts={"obj": "absent"}), REFUSED),
    (refused(facts={"obj": {**OWN_DRAFT, "status": "published"}, "shares": []}), REFUSED),
    (refused(facts={"obj": "any"}, action="export", resource_id=None), REFUSED),
    (refused(facts={"obj": "any"}, action="export", resource_id=None, role="admin"), ALLOWED),
])
def test_an_answer_is_hidden_where_the_object_cannot_be_viewed(shipped: Policy, row: Entry, wanted: str) -> None:
    assert the_answer(shipped, row).result == wanted


@pytest.mark.parametrize(("recorded", "wanted"), [
    ("10.1.2.3", ALLOWED), ("::ffff:10.1.2.3", ALLOWED), ("10.1.2.3:443", ALLOWED), ("203.0.113.7", REFUSED),
    ("", REFUSED), ("unknown", REFUSED), (None, REFUSED)])
def test_an_address_is_read_as_a_request_has_it_however_it_was_recorded(
        directory: Path, recorded: str | None, wanted: str) -> None:
    add_line(directory / "admin.csv", "p, user, stats.view, intranet, allow")
    add_line(directory / "admin.csv", "p, user, stats.view, outside, deny")
    replace_text(directory / "model.conf", "p.when == 'own' &&",
                 "p.when == 'outside' && !ipMatch(r.env.ip, '10.0.0.0/8') || \\\n    p.when == 'own' &&")
    row = refused(resource="stats", action="view", resource_id=None, facts={"obj": None, "env": {"ip": recorded}})
    assert the_answer(load(directory, VOCABULARY), row).result == wanted


# Facts that are not recorded


@pytest.mark.parametrize(("facts", "missing"), [
    (None, {NOTHING}),
    ({"obj": {"owner_id": ZOE}, "shares": []}, {"r.obj.status"}),
    ({"obj": {**OWN_DRAFT, "status": "too long"}, "shares": []}, {"r.obj.status"}),
    ({"obj": {"owner_id": ZOE}, "unknown": ["obj.status"], "shares": []}, {"r.obj.status"}),
    ({"obj": {**OWN_DRAFT, "owner_id": BOB}, "unknown": ["shares"]}, {"shared(r.sub, r.obj, r.act)"}),
    ({"obj": {**OWN_DRAFT, "owner_id": BOB}}, {"shared(r.sub, r.obj, r.act)"}),
    ({**entry().facts, "scopes": "too long"}, {"r.sub.scopes"}),
])
def test_what_is_missing_is_named(shipped: Policy, facts: Any, missing: set[str]) -> None:
    assert the_answer(shipped, entry(facts=facts)) == (UNKNOWN, None, missing)


@pytest.mark.parametrize(("row", "wanted"), [
    (entry(facts={"obj": {"status": "archived"}, "shares": []}), REFUSED),
    (entry(facts={"obj": {"owner_id": BOB}, "shares": []}), REFUSED),
    (entry(resource="product", facts={"obj": {"owner_id": BOB}, "shares": ["write"]}), ALLOWED),
    (entry(role="editor", facts={}, result="refused", reason="forbidden"), ALLOWED),
])
def test_what_does_not_matter_need_not_be_known(shipped: Policy, row: Entry, wanted: str) -> None:
    assert the_answer(shipped, row).result == wanted


def test_the_same_rules_change_nothing_whatever_is_known(shipped: Policy) -> None:
    found = replay(shipped, shipped, [entry(), entry(facts={}, result="refused", reason="forbidden")])
    assert (found.decisions, found.unchanged, found.unknown, bool(found)) == (2, 2, 0, False)


def test_refusals_without_facts_are_unknown_as_often_as_they_were(shipped: Policy) -> None:
    merged = refused("forbidden, more of the same minute (40 times)", resource_id=None, facts=None, count=40)
    anybody = refused("more of the same minute (9 times)", principal="*", role="*", resource="*", action="*",
                      resource_id=None, facts=None, count=9)
    found = replay(shipped, shipped, [merged, anybody])
    assert (found.decisions, found.unknown, found.missing[NOTHING]) == (49, 49, 49)


def test_a_function_of_a_plugin_is_asked_where_all_that_it_reads_is_known() -> None:
    text, _ = OF_PLUGINS["functions of plugins"]
    policy = assembled(["p, user, article.*, near, allow"], None, text, WITH_FUNCTIONS)
    sub = {"department": "press"}
    for obj, wanted in (({"department": "press"}, ALLOWED), ({"department": "sales"}, REFUSED), ({}, UNKNOWN)):
        row = entry(action="create", facts={"obj": obj, "sub": sub})
        assert the_answer(policy, row).result == wanted


@pytest.mark.parametrize("key", sampled(["sub", "env", "obj", "new", "shares", "scopes", "asked", "groups", "rest",
                                         "count"], 3))
@pytest.mark.parametrize("value", [None, 3, "too long", [], [1, None, []], {}, {"status": [], "key": {}, "groups": 1}])
def test_facts_of_another_form_are_as_good_as_none(shipped: Policy, key: str, value: Any) -> None:
    row = entry(facts={**entry().facts, key: value})
    assert replay(shipped, shipped, [row, replace(row, result="refused", reason="forbidden")]).decisions in (0, 2)


# Entries that are not decisions of the policy


@pytest.mark.parametrize("row", [
    entry(result="failed", reason="invalid_credentials"),
    refused("read_only_field", facts={"fields": ["role"]}),
    refused("rate_limited"),
    entry(action="export", facts={"filters": {}, "count": 3}),
    entry(resource="audit", action="view", facts=None),
    entry(principal="operator", role="operator", facts=None),
    entry(principal="system:hooks", role="system", facts=None),
    entry(resource="thing", action="create"),
], ids=lambda row: f"{row.action} {row.reason or row.principal}")
def test_what_the_policy_did_not_decide_is_left_out(shipped: Policy, row: Entry) -> None:
    assert replay(shipped, shipped, [row]).decisions == 0


def test_what_was_answered_otherwise_then_is_counted_and_no_flip(shipped: Policy) -> None:
    by_rank = refused()
    found = replay(shipped, shipped, [by_rank, entry()])
    assert (found.otherwise, bool(found)) == (1, False)


def test_a_change_that_lets_in_by_a_rewritten_condition_names_the_line(shipped: Policy) -> None:
    files = {**shipped.files, "model.conf": shipped.files["model.conf"].replace(
        b"p.when == 'own_draft' && r.obj.owner_id == r.sub.id && r.obj.status == 'draft'",
        b"p.when == 'own_draft' && r.obj.owner_id == r.sub.id")}
    new = from_files(files, VOCABULARY)
    assert new.version != shipped.version
    found = replay(shipped, new, [refused(facts={"obj": {**OWN_DRAFT, "status": "in_review"}, "shares": []})])
    assert [key[3].split(":")[0] for key in found.flips] == ["articles.csv"]
