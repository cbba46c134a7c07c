"""`/api/admin/policy` and `/api/health`: of policy lines about one person, a caller is told those of the own tenant."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.apps import NO_ROW, Given

POLICY, HEALTH = "/api/admin/policy", "/api/health"


@pytest.fixture(scope="module")
def personal(app, under) -> Iterator[SimpleNamespace]:
    """An app whose rules name `near`, who is of the default tenant, `far`, of another one, and `gone`, of none."""
    given, elsewhere = Given(app, "default"), Given(app, "other")
    near, far, gone = given.user("user").id, elsewhere.user("user").id, NO_ROW
    lines = "".join(f"p, user:{id}, article.archive, own, allow\np, user:{id}, article.archive, own, allow\n"
                    for id in (near, far, gone))
    links = "".join(f"g, user:{id}, editor\n" for id in (near, far))
    kept = "".join(f"only, {who}, audit.view\n" for who in ("owner", *(f"user:{id}" for id in (near, far, gone))))
    made = under("", {"articles.csv": lines, "roles.csv": links,
                      "invariants.csv": f"{kept}always, admin, *, always\n"})
    yield SimpleNamespace(app=made, near=near, far=far, gone=gone)


@pytest.fixture
def developer(personal, as_user):
    """A developer of the default tenant, as a caller of that app."""
    caller = as_user("developer")
    caller.client = personal.app.test_client()
    return caller


def names(personal, text: str) -> set[str]:
    return {name for name in ("near", "far", "gone") if getattr(personal, name) in text}


def test_the_rules_are_those_of_roles_and_of_persons_of_the_own_tenant(personal, developer):
    answer = developer.get(POLICY)
    assert names(personal, answer.text) == {"near"}
    found = answer.get_json()
    assert [rule["permission"] for rule in found["rules"] if rule["who"] == f"user:{personal.near}"] == [
        "article.archive"] * 2
    assert found["roles"][f"user:{personal.near}"] == ["editor"]
    assert [kept["who"] for kept in found["invariants"]] == ["owner", f"user:{personal.near}", "admin"]
    assert {rule["who"] for rule in found["rules"]} > {"guest", "user", "admin"}


def test_the_warnings_about_a_line_go_with_it(personal, developer):
    rules = personal.app.extensions["gatepost"].policy.current.rules
    places = {rule.place: rule.sub for rule in rules}
    warned = developer.get(POLICY).get_json()["warnings"]
    assert {places[warning.split(": ")[0]] for warning in warned} == {f"user:{personal.near}"}


def test_each_tenant_is_told_its_own(personal, developer, as_user):
    other = as_user("developer", tenant="other")
    other.client = personal.app.test_client()
    assert names(personal, other.get(POLICY).text) == {"far"}


def test_an_error_tells_of_lines_about_persons_of_the_own_tenant_alone(personal, developer):
    policy = personal.app.extensions["gatepost"].policy
    file = policy._source.directory / "articles.csv"
    good = file.read_text()
    broken = "".join(f"p, user:{id}, article.{name}, own, allow\n" for id, name in (
        (personal.near, "fly"), (personal.far, "dive"), (personal.far.upper(), "walk")))
    file.write_text(good.replace("# end", f"{broken}p, user, article.crawl, own, allow\n# end"))
    try:
        policy.reload()
        errors = [developer.get(POLICY).get_json()["error"], developer.get(HEALTH).get_json()["policy_error"]]
    finally:
        file.write_text(good)
        policy.reload()
    assert errors[0] == errors[1]
    assert [word for word in ("fly", "dive", "walk", "crawl") if f"article.{word}" in errors[0]] == ["fly", "crawl"]
    assert names(personal, errors[0].lower()) == set()
    assert "2 findings about persons of other tenants are left out" in errors[0]
    assert developer.get(POLICY).get_json()["error"] is None
