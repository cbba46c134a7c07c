"""`GET /api/admin/policy/matrix`: the table of permissions by role, its rules, and those of one user."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest

from blueprints.policy import matrix as policy_matrix
from blueprints.policy.matrix import LARGEST_PAGE
from policies import SHIPPED
from policies.tools.matrix import matrix
from tests.apps import NO_ROW, ROLES, Given

MATRIX = "/api/admin/policy/matrix"


def ask(caller, **query):
    answer = caller.get(f"{MATRIX}?{urlencode(query)}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def permissions(found):
    return {row["permission"]: row["cells"] for one in found["resources"] for row in one["permissions"]}


@pytest.fixture(scope="module")
def table(app):
    return matrix(app.extensions["gatepost"].policy.current)


# The table

def test_it_is_the_table_of_the_command_in_the_same_order(as_role, table):
    found, written = ask(as_role("developer")), table.as_json()
    assert (found["version"], found["roles"]) == (written["policy_version"], written["roles"])
    assert [one["resource"] for one in found["resources"]] == [section.resource for section in table.sections]
    told = permissions(found)
    assert list(told) == list(written["permissions"])
    for permission, cells in told.items():
        assert {role: {"allow": list(dict.fromkeys(part["word"] for part in cell["allow"])),
                       "deny": list(dict.fromkeys(part["word"] for part in cell["deny"])),
                       "lines": [part["place"] for part in (*cell["allow"], *cell["deny"])]}
                for role, cell in cells.items()} == written["permissions"][permission]
    assert found["scopes"] == written["scopes"]


def test_a_cell_that_is_allowed_in_every_case_says_so(as_role, table):
    told = permissions(ask(as_role("developer")))
    for section in table.sections:
        for row in section.rows:
            for role, grant in zip(table.columns, row.grants, strict=True):
                assert (told[row.permission].get(role, {}).get("always", False)) is (bool(grant) and grant.always)


def test_each_line_behind_a_cell_is_told_once_as_it_stands_in_its_file(as_role, app):
    found = ask(as_role("developer"))
    named = {part["place"] for cells in permissions(found).values() for cell in cells.values()
             for part in (*cell["allow"], *cell["deny"])}
    assert named == set(found["lines"])
    for place, line in found["lines"].items():
        rows = (SHIPPED / line["file"]).read_text().splitlines()
        assert (place, line["rule"]) == (f"{line['file']}:{line['line']}", rows[line["line"] - 1].strip())
    assert found["line_count"] == len(app.extensions["gatepost"].policy.current.rules)


def test_each_word_in_the_cells_is_explained(as_role, app):
    found, policy = ask(as_role("developer")), app.extensions["gatepost"].policy.current
    words = {part["word"] for cells in permissions(found).values() for cell in cells.values()
             for part in (*cell["allow"], *cell["deny"])}
    assert found["conditions"] == {word: policy.meaning(word) for word in words - {"always"}}


def test_chosen_resources_and_roles_alone_are_shown_with_their_lines_and_scopes(as_role):
    found = ask(as_role("developer"), resource="order,article", role="user,guest")
    assert found["roles"] == ["guest", "user"], "in the order of the table"
    assert [one["resource"] for one in found["resources"]] == ["article", "order"]
    assert {role for cells in permissions(found).values() for role in cells} == {"guest", "user"}
    assert {line["file"] for line in found["lines"].values()} == {"articles.csv", "orders.csv"}
    assert set(found["scopes"]) == {f"{verb}:{area}" for verb in ("read", "write", "manage")
                                    for area in ("articles", "orders")}
    assert set(found["conditions"]) < set(ask(as_role("developer"))["conditions"])


def test_without_persons_of_their_own_lines_the_page_is_empty(as_role):
    found = ask(as_role("developer"))
    assert found["person"] is None
    assert found["persons"] == {"items": [], "total": 0, "has_next": False}


@pytest.mark.parametrize(("query", "parameter"), [
    ("resource=articles", "resource"), ("resource=", "resource"), ("role=janitor", "role"), ("role=user,,", "role"),
    ("limit=-1", "limit"), (f"limit={LARGEST_PAGE + 1}", "limit"), ("limit=many", "limit"), ("offset=-1", "offset"),
    ("offset=10001", "offset"), ("q=", "q"), ("person=", "person"), ("person=%00", "person"),
    ("fields=roles", "fields"),
])
def test_what_cannot_be_asked_is_refused_by_name(as_role, query, parameter):
    answer = as_role("admin").get(f"{MATRIX}?{query}")
    assert answer.status_code == 400, answer.get_data(as_text=True)
    assert {error["parameter"] for error in answer.get_json()["errors"]} == {parameter}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_without_policy_view_does_not_read_it(as_role, role):
    expected = 200 if role in ("developer", "owner", "admin") else 401 if role == "guest" else 403
    assert as_role(role).get(MATRIX).status_code == expected


# Users

@pytest.fixture(scope="module")
def personal(app, under) -> Iterator[SimpleNamespace]:
    """An app whose rules name `ann` and `bob` of the default tenant, `far` of another one, and the deleted `gone`."""
    given, elsewhere = Given(app, "default"), Given(app, "other")
    ann, bob = given.user("user", name="Ann Arbor"), given.user("editor", name="Bob Bell")
    far, gone = elsewhere.user("user", name="Ann Afar").id, NO_ROW
    lines = (f"# May of Ann, instead of user:{far}.\n# Until June.\np, user:{ann.id}, article.publish, own, allow\n"
             f"p, user:{ann.id}, article.view, published, deny\np, user:{bob.id}, article.archive, own, allow\n"
             + "".join(f"p, user:{id}, article.archive, own, allow\n" for id in (far, gone)))
    made = under("", {"articles.csv": lines, "roles.csv": f"g, user:{ann.id}, moderator\ng, user:{far}, editor\n"})
    yield SimpleNamespace(app=made, ann=ann, bob=bob, far=far, gone=gone)


@pytest.fixture
def asking(personal, as_user):
    """`asking("developer")` returns a caller of that app."""
    def log_in(role, tenant="default"):
        caller = as_user(role, tenant=tenant)
        caller.client = personal.app.test_client()
        return caller

    return log_in


def entry(user, role, lines, *, email=True):
    return {"id": user.id, "name": f"{user.name}, {user.email}" if email else user.name, "role": role, "lines": lines}


def test_persons_with_lines_of_their_own_are_listed_by_name(personal, asking):
    found = ask(asking("owner"))["persons"]
    assert found == {"items": [entry(personal.ann, "user", 3), entry(personal.bob, "editor", 1)], "total": 2,
                     "has_next": False}


def test_an_e_mail_is_shown_to_callers_who_may_see_it_and_found_by_them_only(personal, asking):
    developer, owner = asking("developer"), asking("owner")
    assert ask(developer)["persons"]["items"][0] == entry(personal.ann, "user", 3, email=False)
    assert ask(owner, q=personal.bob.email)["persons"]["items"] == [entry(personal.bob, "editor", 1)]
    assert ask(developer, q=personal.bob.email)["persons"]["total"] == 0


@pytest.mark.both_databases
def test_persons_are_found_by_a_part_of_their_name_and_page_by_page(personal, asking):
    owner = asking("owner")
    assert [one["id"] for one in ask(owner, q="ARBOR")["persons"]["items"]] == [personal.ann.id]
    first, second = (ask(owner, limit=1, offset=offset)["persons"] for offset in (0, 1))
    assert [one["items"][0]["id"] for one in (first, second)] == [personal.ann.id, personal.bob.id]
    assert (first["has_next"], second["has_next"], first["total"]) == (True, False, 2)
    assert ask(owner, limit=0)["persons"] == {"items": [], "total": None, "has_next": False}


def test_nobody_of_another_tenant_is_told_nor_in_a_comment(personal, asking):
    for query in ({}, {"person": personal.ann.id}, {"q": "Ann"}):
        text = str(ask(asking("owner"), **query))
        assert personal.far not in text and personal.gone not in text and "Afar" not in text
    far = ask(asking("owner", tenant="other"))
    assert [one["id"] for one in far["persons"]["items"]] == [personal.far]
    assert far["line_count"] == ask(asking("owner"))["line_count"] - 2


def test_a_table_of_roles_does_not_depend_on_persons(personal, asking, as_role):
    told = permissions(ask(asking("owner")))
    assert {permission: set(cells) for permission, cells in told.items()} == {
        permission: set(cells) for permission, cells in permissions(ask(as_role("owner"))).items()}


def test_a_person_is_a_column_of_the_lines_of_the_role_and_of_their_own(personal, asking):
    found = ask(asking("owner"), person=personal.ann.id, resource="article,comment")
    person, lines = found["person"], found["lines"]
    assert {name: person[name] for name in ("id", "name", "role", "lines")} == entry(personal.ann, "user", 3)
    [publish] = person["cells"]["article.publish"]["allow"]
    assert (publish["word"], lines[publish["place"]]["rule"]) == (
        "own", f"p, user:{personal.ann.id}, article.publish, own, allow")
    assert lines[publish["place"]]["comment"] == ["Until June."]
    assert [part["word"] for part in person["cells"]["article.view"]["deny"]] == ["published"]
    assert person["cells"]["comment.approve"]["always"] is True, "of a role that was lent"
    cells = {row["permission"]: row["cells"] for one in found["resources"] for row in one["permissions"]}
    assert person["cells"]["article.create"] == cells["article.create"]["user"]
    assert "article.archive" not in person["cells"]
    assert {permission.partition(".")[0] for permission in person["cells"]} == {"article", "comment"}


def test_a_person_without_lines_of_their_own_has_the_cells_of_the_role(personal, asking, given):
    eve = given.user("editor")
    found = ask(asking("owner"), person=f" {eve.email.upper()} ")
    assert (found["person"]["id"], found["person"]["lines"]) == (eve.id, 0)
    assert found["person"]["cells"] == {permission: cells["editor"] for permission, cells in permissions(found).items()
                                        if "editor" in cells}


def test_the_cells_do_not_tell_a_role_that_the_caller_may_not_see(personal, asking, monkeypatch):
    monkeypatch.setattr(policy_matrix, "hidden_of", lambda *_: {"role"})
    answer = asking("owner").get(f"{MATRIX}?person={personal.ann.id}")
    assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")


def test_a_person_who_is_absent_foreign_or_hidden_by_that_name_is_not_there(personal, asking):
    answers = [asking("developer").get(f"{MATRIX}?{urlencode({'person': who})}")
               for who in (NO_ROW, personal.far, "nobody@example.org", personal.ann.email, "editor", "guest")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({str({**answer.get_json(), "request_id": ""}) for answer in answers}) == 1
    assert asking("developer").get(f"{MATRIX}?person={personal.ann.id}").status_code == 200
