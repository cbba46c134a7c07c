"""`gatepost policy explain --audit ID`: a recorded decision, by the facts and the rules of that time."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from models.tables import policy_version
from tests.policies.editing import add_line, remove_line
from tests.running import PASSWORD, Done, Instance

GONE = "0199f3a0-0000-7000-8000-0000000000ff"


@pytest.fixture(scope="module")
def trail(instance: Instance) -> list[dict[str, object]]:
    """The audit events of Ann and Olga.

    Ann, a user, created an article, changed it and could not publish it. Olga, an owner, could not create an
    administrator.
    """
    instance.run("user", "add", "olga@example.org", "--role", "owner", "--password-file", "-", input=PASSWORD)
    with instance.answering() as served:
        served.call("POST", "/api/register", {"name": "Ann", "email": "ann@example.org", "password": PASSWORD})
        ann = served.log_in("ann@example.org", PASSWORD)
        made = served.call("POST", "/api/articles", {"title": "T", "slug": "t", "body": "b"}, ann)[1]
        served.call("PATCH", f"/api/articles/{made['id']}", {"title": "New"}, ann)
        served.call("POST", f"/api/articles/{made['id']}/submit", None, ann)
        served.call("DELETE", f"/api/articles/{made['id']}", None, ann)
        served.call("POST", f"/api/articles/{made['id']}/publish", None, ann)
        olga = served.log_in("olga@example.org", PASSWORD)
        served.call("POST", "/api/users", {"name": "B", "email": "b@example.org", "password": PASSWORD,
                                           "role": "admin"}, olga)
    return list(map(json.loads, instance.run("audit", "export").stdout.splitlines()))


def explained(instance: Instance, trail: list[dict[str, object]], action: str, *options: str) -> Done:
    [row] = [row for row in trail if row["resource"] == "article" and row["action"] == action]
    return instance.run("policy", "explain", "--audit", str(row["id"]), *options)


def test_what_was_allowed_names_the_line_and_the_facts_of_then(instance: Instance, trail: list) -> None:
    done = explained(instance, trail, "update")
    assert done.returncode == 0
    summary, decided, *facts = done.stdout.splitlines()
    assert summary.startswith("Ann, ann@example.org (user) was allowed article.update on ")
    assert " allows it (own_draft)" in summary and decided.startswith("  decided   articles.csv:")
    assert [fact.split(" ", 13)[-1] for fact in facts[1:2]] == ["status is draft"], "it is in review now"


def test_what_was_refused_names_the_line_that_came_nearest(instance: Instance, trail: list) -> None:
    done = explained(instance, trail, "delete")
    assert "was refused article.delete" in done.stdout
    assert "status is in_review, must be draft" in done.stdout.splitlines()[0]


def test_what_was_not_recorded_is_said_to_be_so(instance: Instance, trail: list) -> None:
    done = explained(instance, trail, "publish")
    assert "was refused article.publish" in done.stdout and "no rule gave article.publish to user" in done.stdout


def test_json_tells_what_was_answered_and_what_the_policy_alone_says(instance: Instance, trail: list) -> None:
    [found] = json.loads(explained(instance, trail, "update", "--json").stdout)["decisions"]
    assert (found["answered"], found["policy_alone"], found["agrees"]) == ("allowed", "allowed", True)
    assert found["decided_by"]["rule"] == "p, user, article.update, own_draft, allow"
    assert found["not_recorded"] == []


def test_what_a_rule_in_code_refused_is_said_to_be_so(instance: Instance, trail: list) -> None:
    [row] = [row for row in trail if row["resource"] == "user" and row["reason"] == "forbidden"]
    done = instance.run("policy", "explain", "--audit", row["id"])
    assert "was refused user.create" in done.stdout
    assert "the policy allowed it; a rule in code refused it" in done.stdout.splitlines()[0]


def test_every_other_decision_of_the_trail_agrees_with_what_was_answered(instance: Instance, trail: list) -> None:
    for row in trail:
        if row["resource"] == "user" and row["reason"] == "forbidden":
            continue
        done = instance.run("policy", "explain", "--audit", row["id"], "--json")
        if done.returncode == 0:
            assert all(one["agrees"] for one in json.loads(done.stdout)["decisions"]), row
        else:
            assert "is not a decision of the policy" in done.stdout and row["principal"] == "operator"


@pytest.mark.parametrize("id", [GONE, "no-id", "user"])
def test_a_row_that_is_not_there_leaves_with_2(instance: Instance, id: str) -> None:
    done = instance.run("policy", "explain", "--audit", id)
    assert (done.returncode, done.stderr) == (2, f"Error: There is no audit event {id}.\n")


@pytest.mark.parametrize("more", [["--as", "user"], ["article.view"], ["--ip", "10.1.2.3"], ["--expect", "allowed"]])
def test_beside_it_nothing_is_to_be_said(instance: Instance, more: list[str]) -> None:
    done = instance.run("policy", "explain", "--audit", GONE, *more)
    assert done.returncode == 2 and "allows no other options" in done.stderr


def test_without_a_row_somebody_and_a_permission_are_to_be_named(instance: Instance) -> None:
    assert "Name the user or role (--as)" in instance.run("policy", "explain", "article.view").stderr
    assert "Name the user or role (--as)" in instance.run("policy", "explain", "--as", "user").stderr


def test_the_rules_of_then_are_asked_though_others_are_in_force(instance: Instance, trail: list) -> None:
    rules = instance.folder / "policies" / "articles.csv"
    before = rules.read_text()
    remove_line(rules, "p, user, article.update, own_draft, allow")
    try:
        done = explained(instance, trail, "update")
    finally:
        rules.write_text(before)
    assert "allows it (own_draft)" in done.stdout
    assert done.stdout.splitlines()[-1].split()[1] == trail[-1]["policy_version"]


def test_rules_that_are_not_kept_cannot_be_asked(
    instance: Instance, trail: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_version, "named", lambda version: None)
    assert explained(instance, trail, "update").returncode == 0, "they are still in force"
    rules = instance.folder / "policies" / "comments.csv"
    before = rules.read_text()
    add_line(rules, "p, user, comment.update, own, allow")
    try:
        done = explained(instance, trail, "update")
    finally:
        rules.write_text(before)
    assert done.returncode == 2 and "is no longer stored" in done.stderr


def test_rules_that_today_cannot_be_used_are_said_to_be_so(
    instance: Instance, trail: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"model.conf": "", "roles.csv": "# end\n"}
    monkeypatch.setattr(policy_version, "named", lambda version: SimpleNamespace(files=files))
    done = explained(instance, trail, "update")
    assert done.returncode == 2 and "cannot be used today" in done.stderr
