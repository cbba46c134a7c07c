"""The department of a row with an owner: each role sees it only with `<resource>.view_private`, in every answer."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.samples import sampled

# resource → its collection, and the roles to which `<resource>.*` shows the department of every row
COLLECTIONS = {
    "article": ("articles", {"editor", "owner", "admin"}),
    "page": ("pages", {"editor", "owner", "admin"}),
    "product": ("products", {"manager", "owner", "admin"}),
    "category": ("categories", {"manager", "owner", "admin"}),
    "order": ("orders", {"manager", "owner", "admin"}),
    "comment": ("comments", {"moderator", "owner", "admin"}),
}
ROLES = ("guest", "user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")
UNSEEN = {("order", role) for role in ("guest", "user", "editor", "moderator", "developer")}
SECRET = "secret-service"


@pytest.fixture(scope="module")
def another(given):
    """The owner of the rows that are not the caller's."""
    return given.user("user")


@pytest.fixture(scope="module")
def open_exports(under):
    """All rows may be exported by all users, and articles by guests."""
    return under("", {f"{path}.csv": f"p, guest, {resource}.export, always, allow\n"
                      for resource, (path, _) in COLLECTIONS.items()})


def rows_of(given, resource, owner_id):
    return getattr(given, resource)(department=SECRET, owner_id=owner_id)


def exported(caller, path, media_type, id):
    answer = caller.get(f"/api/{path}/export?sort=-created_at", headers={"Accept": media_type})
    assert answer.status_code == 200, answer.text
    lines = (csv.DictReader(io.StringIO(answer.text)) if media_type == "text/csv"
             else map(json.loads, answer.text.splitlines()))
    return next(line for line in lines if line["id"] == id)


@pytest.mark.parametrize("role", sampled(ROLES, 3))
@pytest.mark.parametrize("resource", COLLECTIONS)
def test_a_department_is_shown_to_its_owner_and_to_roles_with_everything(
        open_exports, as_user, as_role, given, another, role, resource):
    path, seeing = COLLECTIONS[resource]
    caller = as_role(role) if role == "guest" else as_user(role)
    caller.client = open_exports.test_client()
    theirs = rows_of(given, resource, another.id)
    cases = [(theirs, role in seeing)] if (resource, role) not in UNSEEN else []
    if role != "guest":
        cases.append((rows_of(given, resource, caller.id), True))
    for row, shown in cases:
        seen = {"item": caller.get(f"/api/{path}/{row.id}").get_json(),
                "named": caller.get(f"/api/{path}/{row.id}?fields=id,department").get_json()}
        for name, query in (("list", ""), ("named list", "&fields=id,department"), ("expanded", "&expand=owner"),
                            ("counted", "&page=1")):
            page = caller.get(f"/api/{path}?sort=-created_at&limit=5{query}").get_json()["items"]
            seen[name] = next(one for one in page if one["id"] == row.id)
        for media_type in ("application/x-ndjson", "text/csv"):
            line = exported(caller, path, media_type, row.id)
            seen[media_type] = line if line.get("department") else {}
        assert {name: one.get("department") == SECRET for name, one in seen.items()} == dict.fromkeys(seen, shown)
        assert all((SECRET in json.dumps(one)) is shown for one in seen.values())
