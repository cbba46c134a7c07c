"""`/api/admin/policy` and `/api/health`: a caller sees rules for a single user only if the user is of their tenant."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.apps import NO_ROW, Given
from tests.databases import on_sqlite  # noqa: F401 - the same on each database

POLICY, HEALTH = "/api/admin/policy", "/api/health"


@pytest.fixture(scope="module")
def personal(app, under) -> Iterator[SimpleNamespace]:
    """An app whose rules name `near` of the default tenant, `far` of another one, and `gone`, a deleted user."""
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
    """A developer of the default tenant who calls that app."""
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
    assert "2 findings about users of other tenants are left out" in errors[0]
    assert developer.get(POLICY).get_json()["error"] is None


WAYS = {"by_id": "r.sub.id == '{id}'", "by_no_id": "r.sub.id != '{id}'", "by_key": "r.sub.key == 'user:{id}'",
        "by_name": "g(r.sub.key, 'user:{id}')", "by_owner": "r.obj.owner_id == '{id}'"}


@pytest.fixture(scope="module")
def conditional(app, under) -> Iterator[SimpleNamespace]:
    """An app whose conditions name `near` and `far` in every way of a matcher."""
    given, elsewhere = Given(app, "default"), Given(app, "other")
    ids = {"near": given.user("user").id, "far": elsewhere.user("user").id}
    conditions = "".join(f"    p.when == '{word}_{name}' && {way.format(id=id)} || \\\n"
                         for word, way in WAYS.items() for name, id in ids.items())
    words = [*(f"{word}_{name}" for word in WAYS for name in ids), *(f"person:{id}" for id in ids.values())]
    made = under(f"{conditions}    p.when == 'person:' + r.sub.id || \\\n", {
        "articles.csv": "\n".join(f"p, {role}, article.archive, {word}, allow" for word in words
                                  for role in ("user", "editor")) + "\np, user, article.publish, by_id_far, allow",
        "invariants.csv": f"atmost, user, article.import, person:{ids['far']}\natmost, user, page.import, by_id_far",
        "stats.csv": f"# for {ids['far']} and user:{ids['far']}"})
    yield SimpleNamespace(app=made, **ids, gone=NO_ROW)


def test_no_answer_about_the_rules_has_the_id_of_a_user_of_another_tenant(conditional, as_user, given):
    developer, owner = as_user("developer"), as_user("owner")
    developer.client = owner.client = conditional.app.test_client()
    near, far, article = conditional.near, conditional.far, given.article(owner_id=conditional.near)
    about, version = f"permission=article.archive&id={article.id}", conditional.app.extensions[
        "gatepost"].policy.current.version
    added = f"p, user, page.archive, by_id_far, allow\np, editor, page.archive, person:{far}, allow\n"

    def attempt(line):
        return developer.post(f"{POLICY}/try", json={"files": {"more.csv": f"{added}{line}# end\n"}})

    answers = {
        "the rules": developer.get(POLICY), "the table": developer.get(f"{POLICY}/matrix"),
        "a column of it": developer.get(f"{POLICY}/matrix?person={near}"),
        "lines without use": developer.get(f"{POLICY}/unused"), "who may": developer.get(f"{POLICY}/who?{about}"),
        "history": developer.get(f"{POLICY}/versions"), "files": developer.get(f"{POLICY}/versions/{version}"),
        **{f"why {who}{on}": developer.get(f"{POLICY}/explain?as={who}&{on}") for who in ("user", "editor", near)
           for on in (about, "permission=article.archive")},
        "what is visible": owner.get(f"{POLICY}/visible?as={near}&collection=articles&ids={article.id}"),
        "a change": attempt(""), "a wrong one": attempt(f"p, user, page.archive, persn:{far}, allow\n"),
    }
    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 200} == {}
    assert {name for name, answer in answers.items() if "far" in names(conditional, answer.text)} == set()
    told = {name: answer.get_json() for name, answer in answers.items()}
    assert told["the rules"]["conditions"]["by_id_far"] == "r.sub.id == '…'"
    assert told["the rules"]["conditions"]["by_id_near"] == f"r.sub.id == '{near}'"
    assert "# a rule about a user of another tenant is left out" in told["files"]["files"]["model.conf"]
    assert near in told["files"]["files"]["model.conf"]
    assert any("`persn:…` is no condition" in one["message"] for one in told["a wrong one"]["findings"])


def test_an_error_about_a_condition_that_names_one_is_told_without_the_id(conditional, as_user):
    developer, policy = as_user("developer"), conditional.app.extensions["gatepost"].policy
    developer.client = conditional.app.test_client()
    file = policy._source.directory / "pages.csv"
    good = file.read_text()
    file.write_text(good.replace("# end", f"p, user, page.archive, persn:{conditional.far}, allow\n# end"))
    try:
        policy.reload()
        errors = [developer.get(POLICY).get_json()["error"], developer.get(HEALTH).get_json()["policy_error"]]
    finally:
        file.write_text(good)
        policy.reload()
    assert errors[0] == errors[1] and "`persn:…` is no condition" in errors[0]
    assert names(conditional, errors[0]) == set()


def test_a_decision_of_the_past_is_explained_without_the_id(conditional, as_user, given):
    owner, ann = as_user("owner"), as_user("user")
    owner.client = ann.client = conditional.app.test_client()
    assert ann.post(f"/api/articles/{given.article().id}/publish").status_code == 403
    services = conditional.app.extensions["gatepost"]
    services.audit_writer.flush(early=True)
    [row] = owner.get(f"/api/audit?principal=user:{ann.id}&action=publish").get_json()["items"]
    answer = owner.get(f"{POLICY}/explain/{row['id']}")
    assert answer.status_code == 200 and answer.get_json()["decisions"][0]["nearest_misses"]
    assert "far" not in names(conditional, answer.text)
