"""Explanations: the principal, the deciding rule, and the missing fact, in plain words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from policies import SHIPPED, Policy, Principal, load
from policies.evaluation.principal import FixedEnvironment
from policies.explaining.explain import explain
from policies.explaining.explanation import ALLOWED, DEPENDS, REFUSED, Explanation
from tests.policies.editing import add_line, remove_line, replace, shipped_copy
from tests.policies.generated import WHO_AND_WHAT, assembled, model
from tests.policies.shipped_vocabulary import PERMISSIONS, ROLES, VOCABULARY

ANN, BOB = "0199f3a0-0000-7000-8000-00000000000a", "0199f3a0-0000-7000-8000-00000000000b"
NOW = FixedEnvironment()


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load(SHIPPED, VOCABULARY)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


def caller(role: str = "user", id: str | None = ANN, **more: Any) -> Principal:
    if role == "guest":
        return Principal(None, "guest", "guest", "t", kind="guest")
    return Principal(id, f"user:{id}", role, "t", **more)


def article(**values: Any) -> dict[str, Any]:
    return VOCABULARY.resources["article"].row(id="0199f3a0-0000-7000-8000-000000000001", **values)


def with_condition(directory: Path, condition: str, line: str) -> Policy:
    """Returns the shipped rules with a condition `new`, and a rule that names it."""
    always = "    p.when == 'always' || \\\n"
    replace(directory / "model.conf", always, f"{always}    p.when == 'new' && {condition} || \\\n")
    add_line(directory / ("users.csv" if "user.view" in line else "articles.csv"), line)
    return load(directory, VOCABULARY)


def line_of(policy: Policy, *wanted: str) -> str:
    """Returns the place of the rule with these columns."""
    [place] = [rule.place for rule in policy.rules if (rule.sub, rule.act, rule.when, rule.eft) == wanted]
    return place


def texts(found: Explanation) -> list[tuple[str, bool | None]]:
    return [(remark.text, remark.holds) for step in found.misses for remark in step.facts]


def test_what_is_allowed_names_the_line_that_allowed_it_and_its_facts(shipped: Policy) -> None:
    found = explain(shipped, caller(), "article.update", article(owner_id=ANN, status="draft"), NOW)
    assert found.verdict == ALLOWED
    assert found.decided_by is not None
    place = line_of(shipped, "user", "article.update", "own_draft", "allow")
    assert found.decided_by.rule.place == place
    assert [(fact.text, fact.holds) for fact in found.decided_by.facts] == [
        (f"owner_id is {ANN}, the caller's id", True),
        ("status is draft", True),
    ]
    assert f"{place} allows it (own_draft)" in found.summary
    assert found.misses == ()


def test_what_is_refused_names_the_nearest_line_and_the_missing_fact(shipped: Policy) -> None:
    found = explain(shipped, caller(), "article.update", article(owner_id=BOB, status="draft"), NOW, who="ann@x.org")
    place = line_of(shipped, "user", "article.update", "own_draft", "allow")
    assert found.verdict == REFUSED
    assert found.decided_by is None
    assert found.summary == (
        "ann@x.org (user) may not article.update on 0199f3a0-0000-7000-8000-000000000001: "
        f"{place} needs own_draft; owner_id is {BOB}, must be the caller's id, {ANN}"
    )


def test_the_nearest_miss_is_the_one_that_lacks_the_fewest_facts(shipped: Policy) -> None:
    found = explain(shipped, caller(), "article.update", article(owner_id=ANN, status="published"), NOW)
    assert [step.rule.when for step in found.misses] == ["own_draft", "shared_draft"]
    assert found.summary.endswith("needs own_draft; status is published, must be draft")


def test_a_missing_value_is_called_missing(shipped: Policy) -> None:
    found = explain(shipped, caller(), "article.update", article(status="draft"), NOW)
    assert (f"owner_id is missing, must be the caller's id, {ANN}", False) in texts(found)


def test_an_age_is_said_in_days_and_hours() -> None:
    aged = assembled(
        ["p, user, article.view, aged, allow", "p, user, article.update, recent, allow"],
        text=model(f"{WHO_AND_WHAT} && (p.when == 'always' || p.when == 'aged' && olderThan(r.obj.created_at, 'P2W')"
                   " || p.when == 'recent' && youngerThan(r.obj.created_at, 'P1DT6H'))"))
    old = article(created_at="2026-11-01T00:00:00.000000Z")
    found = explain(aged, caller(), "article.view", old, NOW).decided_by
    assert found is not None
    assert [fact.text for fact in found.facts] == ["created_at is 2026-11-01T00:00:00.000000Z, more than 14 days ago"]
    assert explain(aged, caller(), "article.update", old, NOW).summary.endswith(
        "needs recent; created_at is 2026-11-01T00:00:00.000000Z, must be less than 1 day and 6 hours ago")
    assert explain(aged, caller(), "article.update", article(), NOW).summary.endswith(
        "created_at is missing, must be less than 1 day and 6 hours ago")
    either = explain(aged, caller(), "article.update", None, NOW)
    assert ("created_at must be less than 1 day and 6 hours ago", None) in [
        *texts(either), *((fact.text, fact.holds) for fact in (either.decided_by.facts if either.decided_by else ()))]
    assert either.sql == "created_at > '2026-11-17T04:00:00.000000Z'"


def test_a_group_with_a_text_before_its_column_is_said_in_full() -> None:
    headed = assembled(["p, user, article.view, head, allow"], text=model(
        f"{WHO_AND_WHAT} && (p.when == 'always' || p.when == 'head' && inGroup(r.sub, 'head-', r.obj.department))"))
    head, press = caller(groups=("head-press",)), article(department="press")
    allowed = explain(headed, head, "article.view", press, NOW).decided_by
    assert allowed is not None
    assert [fact.text for fact in allowed.facts] == ["department is press, and the caller is in the group head-press"]
    for row, said in ((article(department="news"), "department is news, and the caller is not in the group head-news"),
                      (article(), "department is missing, and names no group")):
        assert explain(headed, head, "article.view", row, NOW).summary.endswith(f"needs head; {said}")


def test_an_inherited_line_names_the_roles_on_the_way(shipped: Policy) -> None:
    found = explain(shipped, caller("owner"), "article.update", article(owner_id=BOB, status="draft"), NOW)
    assert found.decided_by is not None
    assert found.decided_by.via == ("owner", "editor")
    assert found.summary.endswith("allows it (always), inherited by owner → editor")


def test_the_line_nearest_to_the_own_role_is_named(shipped: Policy) -> None:
    found = explain(shipped, caller("admin"), "article.view", article(status="published"), NOW)
    assert found.decided_by is not None
    assert found.decided_by.rule.place == line_of(shipped, "admin", "*", "always", "allow")


def test_where_no_line_reaches_it_names_the_roles_that_have_the_permission(shipped: Policy) -> None:
    found = explain(shipped, caller(), "stats.view", None, NOW)
    assert found.summary.endswith("no rule gives stats.view to user or guest")
    assert found.would == {"always": ("manager", "developer", "owner", "admin")}


def test_a_role_that_has_the_same_in_other_words_has_nothing_more(directory: Path) -> None:
    for word, asks in (("drafts", "=="), ("others", "!=")):
        add_line(directory / "model.conf", f"    p.when == '{word}' && r.obj.status {asks} 'draft' || \\")
        add_line(directory / "articles.csv", f"p, user, article.publish, {word}, allow")
    found = explain(load(directory, VOCABULARY), caller(), "article.publish", None, NOW)
    assert (found.verdict, found.would) == (DEPENDS, {})


def test_a_deny_is_named_as_such(directory: Path) -> None:
    add_line(directory / "articles.csv", f"p, user:{ANN}, article.update, always, deny")
    policy = load(directory, VOCABULARY)
    found = explain(policy, caller(), "article.update", article(owner_id=ANN, status="draft"), NOW)
    assert found.verdict == REFUSED
    place = line_of(policy, f"user:{ANN}", "article.update", "always", "deny")
    assert f"{place} denies it (always)" in found.summary


def test_a_conditional_deny_that_does_not_apply_does_not_refuse(directory: Path) -> None:
    add_line(directory / "articles.csv", "p, user, article.update, intranet, deny")
    policy = load(directory, VOCABULARY)
    row = article(owner_id=ANN, status="draft")
    assert explain(policy, caller(), "article.update", row, NOW).verdict == ALLOWED
    inside = FixedEnvironment(ip="10.1.2.3")
    found = explain(policy, caller(), "article.update", row, inside)
    assert found.verdict == REFUSED
    assert found.decided_by is not None
    [fact] = found.decided_by.facts
    assert fact.text == "the caller's address is 10.1.2.3, which is in 10.0.0.0/8"


def test_a_share_is_explained_in_words(shipped: Policy) -> None:
    row = article(owner_id=BOB, status="draft")
    refused = explain(shipped, caller(), "article.view", row, NOW)
    assert ("it is not shared with the caller for view", False) in texts(refused)
    allowed = explain(shipped, caller(), "article.view", row, NOW, lambda *_: True)
    assert allowed.decided_by is not None
    assert [fact.text for fact in allowed.decided_by.facts] == ["it is shared with the caller for view"]


@pytest.mark.parametrize(
    ("environment", "missing"),
    [
        (FixedEnvironment(hour=7), "the hour is 7, must be at least 8"),
        (FixedEnvironment(hour=18), "the hour is 18, must be less than 18"),
        (FixedEnvironment(weekday=6), "the weekday (1 is Monday) is 6, must be less than 6"),
    ],
)
def test_the_clock_is_explained_in_words(directory: Path, environment: FixedEnvironment, missing: str) -> None:
    add_line(directory / "admin.csv", "p, user, stats.view, office_hours, allow")
    found = explain(load(directory, VOCABULARY), caller(), "stats.view", None, environment)
    assert found.summary.endswith(f"needs office_hours; {missing}")


OPEN = "(r.obj.status in['draft', 'in_review'])"


@pytest.mark.parametrize(
    ("condition", "status", "told"),
    [
        (OPEN, "in_review", ("status is in_review", True)),
        (OPEN, "archived", ("status is archived, must be draft or in_review", False)),
        (OPEN, None, ("status is missing, must be draft or in_review", False)),
        ("(r.obj.status == 'draft' || r.obj.status == 'in_review')", "archived",
         ("status is archived, must be draft or in_review", False)),
    ],
)
def test_one_of_several_values_is_one_fact(
    directory: Path, condition: str, status: str | None, told: tuple[str, bool],
) -> None:
    policy = with_condition(directory, condition, "p, developer, article.update, new, allow")
    found = explain(policy, caller("developer"), "article.update", article(status=status), NOW)
    [step] = [step for step in (found.decided_by, *found.misses) if step and step.rule.when == "new"]
    assert [(fact.text, fact.holds) for fact in step.facts] == [told]
    [step] = [step for step in explain(policy, caller("developer"), "article.update", None, NOW).misses
              if step.rule.when == "new"]
    assert [fact.text for fact in step.facts] == ["status must be draft or in_review"]


def test_a_truth_value_is_told_as_conditions_write_it(directory: Path) -> None:
    remove_line(directory / "users.csv", "p, user, user.view, always, allow")
    policy = with_condition(directory, "r.obj.active == 1", "p, user, user.view, new, allow")
    user = VOCABULARY.resources["user"].row(id=BOB, owner_id=BOB, active=False)
    assert ("active is 0, must be 1", False) in texts(explain(policy, caller(), "user.view", user, NOW))
    assert ("active must be 1", None) in texts(explain(policy, caller(), "user.view", None, NOW))


def test_a_scope_that_does_not_cover_is_the_reason_and_the_ones_that_would_are_named(shipped: Policy) -> None:
    reader = caller("editor", kind="service", scopes=frozenset({"read:articles"}))
    found = explain(shipped, reader, "article.update", article(owner_id=BOB, status="draft"), NOW)
    assert found.verdict == REFUSED
    assert found.summary.endswith("the token's scopes do not cover it")
    assert found.covering_scopes == ("manage:articles", "write:articles")
    assert found.sql is None


# Without an object


def test_without_an_object_the_answer_tells_what_it_depends_on(shipped: Policy) -> None:
    found = explain(shipped, caller(), "article.update", None, NOW)
    assert found.verdict == DEPENDS
    assert {text: holds for text, holds in texts(found)} == {
        "owner_id must be the caller's id": None,
        "status must be draft": None,
        "it must be shared with the caller for update": None,
    }


@pytest.mark.parametrize(
    ("role", "permission", "verdict"),
    [("editor", "article.update", ALLOWED), ("guest", "article.update", REFUSED), ("guest", "session.create", ALLOWED),
     ("guest", "profile.view", REFUSED), ("guest", "article.view", DEPENDS)],
)
def test_without_an_object_the_verdict_is_that_of_the_list(
    shipped: Policy, role: str, permission: str, verdict: str
) -> None:
    assert explain(shipped, caller(role), permission, None, NOW).verdict == verdict


@pytest.mark.parametrize(
    ("role", "permission", "sql"),
    [
        ("editor", "article.view", "every row"),
        ("guest", "article.update", None),
        ("guest", "article.view", "status = 'published'"),
        ("user", "order.create", f"owner_id = '{ANN}'"),
        ("user", "order.view", f"(owner_id = '{ANN}') OR (id IN (SELECT object_id FROM shares …))"),
    ],
)
def test_the_condition_of_a_list_is_shown_as_sql(
    shipped: Policy, role: str, permission: str, sql: str | None
) -> None:
    assert explain(shipped, caller(role), permission, None, NOW).sql == sql


def test_a_value_with_a_question_mark_is_shown_as_it_is(directory: Path) -> None:
    add_line(directory / "orders.csv", "p, user, order.ship, same_department, allow")
    found = explain(load(directory, VOCABULARY), caller(department="a?b"), "order.ship", None, NOW)
    assert found.sql == "department = 'a?b'"


# Both faces


def test_the_text_reads_like_an_answer(shipped: Policy) -> None:
    found = explain(
        shipped, caller(), "comment.update",
        VOCABULARY.resources["comment"].row(id="c", owner_id=ANN, status="approved"), NOW,
        who="ann@x.org", name="comment c",
    )
    place = line_of(shipped, "user", "comment.update", "own_pending", "allow")
    assert found.as_text().splitlines() == [
        f"ann@x.org (user) may not comment.update on comment c: {place} needs own_pending; "
        "status is approved, must be pending",
        "  role      user, which inherits guest",
        f"  not met   {place}  p, user, comment.update, own_pending, allow",
        f"            ✓ owner_id is {ANN}, the caller's id",
        "            ✗ status is approved, must be pending",
        "  others    moderator, owner, admin may (always)",
        f"  in SQL    (owner_id = '{ANN}') AND (status = 'pending')",
        f"  policy    {shipped.version}",
    ]


@pytest.mark.parametrize("role", sorted(ROLES))
def test_every_permission_of_every_role_can_be_explained_and_agrees_with_the_decision(
    shipped: Policy, role: str
) -> None:
    who = caller(role)
    for permission in sorted(PERMISSIONS):
        resource = VOCABULARY.by_permission[permission]
        row = {name: {"owner_id": ANN, "status": "draft"}.get(name) for name in resource.columns}
        found = explain(shipped, who, permission, row, NOW)
        assert (found.verdict == ALLOWED) == shipped.decide(who, permission, row, NOW)
        assert (found.decided_by is not None) == (found.verdict == ALLOWED)
        data = json.loads(json.dumps(found.as_json()))
        assert data["verdict"] == found.verdict
        assert data["summary"] == found.summary


def test_an_unknown_permission_is_a_key_error(shipped: Policy) -> None:
    with pytest.raises(KeyError):
        explain(shipped, caller(), "article.fly", None, NOW)
