"""Names, titles and subjects by HTTP, import and command: no blanks at their ends, and single blanks inside.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from models.tables.contact import ContactMessage
from models.tables.user import User
from tests.running import Instance

SENT, KEPT = "  First \xa0 light\u2003", "First light"

# collection → a body and the fields of it that are names
BODIES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "articles": ({"slug": "first-light", "body": SENT}, ("title",)),
    "categories": ({"slug": "first-light"}, ("name",)),
    "pages": ({"slug": "first-light", "body": SENT, "language": "en"}, ("title",)),
    "products": ({"sku": "LIGHT", "price": 5, "currency": "EUR", "description": SENT}, ("name",)),
    "users": ({"email": "light@example.org", "password": f" {SENT} "}, ("name", "department")),
}


@pytest.mark.parametrize("name", BODIES)
def test_what_is_made_and_changed_is_trimmed_and_free_text_is_not(as_role, name):
    body, names = BODIES[name]
    admin = as_role("admin")
    made = admin.post(f"/api/{name}", json={**body, **dict.fromkeys(names, SENT)})
    assert made.status_code == 201, made.json
    assert {field: made.json[field] for field in names} == dict.fromkeys(names, KEPT)
    assert {made.json[field] for field in ("body", "description") if field in body} <= {SENT}
    path = f"/api/{name}/{made.json['id']}"
    changed = admin.patch(path, json={names[0]: f"Last  light {' ' * 300}"})
    assert (changed.status_code, changed.json[names[0]]) == (200, "Last light")
    assert admin.patch(path, json={names[0]: " \u3000 "}).json["errors"][0]["detail"] == "Must not be blank."


def test_groups_tokens_and_profiles_are_trimmed_and_passwords_are_not(client, as_role, as_user, given):
    admin = as_role("admin")
    made = admin.post("/api/users", json={"name": SENT, "email": "night@example.org", "password": f" {SENT} ",
                                          "groups": [SENT, "b\u202fc"]}).json
    assert made["groups"] == [KEPT, "b c"]
    login = {"email": "night@example.org", "password": f" {SENT} "}
    assert client.post("/api/login", json=login).status_code == 200
    assert client.post("/api/login", json={**login, "password": KEPT}).status_code == 401
    user = as_user(given.user())
    assert user.patch("/api/profile", json={"name": SENT}).json["name"] == KEPT


def test_a_message_of_a_guest_is_trimmed(client, given):
    sent = client.post("/api/contact", json={"name": SENT, "email": "r@example.org", "subject": SENT, "body": SENT})
    assert sent.status_code in (201, 202)
    with given.database.connected():
        row = ContactMessage.get()
    assert (row.name, row.subject, row.body) == (KEPT, KEPT, SENT)


@pytest.mark.parametrize("kind", ["text/csv", "application/x-ndjson"])
def test_what_is_imported_is_trimmed(as_role, kind):
    rows = {"text/csv": f'name,slug\n"{SENT}",{kind[-3:]}\n',
            "application/x-ndjson": json.dumps({"name": SENT, "slug": kind[-3:]}) + "\n"}[kind]
    done = as_role("admin").post("/api/categories/import?key=slug", data=rows.encode(), content_type=kind)
    assert done.status_code == 200, done.json
    found = as_role("admin").get(f"/api/categories?slug={kind[-3:]}").json["items"]
    assert [one["name"] for one in found] == [KEPT]


def test_what_was_stored_before_stays_until_it_is_written_again(as_role, given):
    row, admin = given.user(name="  Old  name ", department="a  b"), as_role("admin")
    changed = admin.patch(f"/api/users/{row.id}", json={"groups": ["x"]})
    assert (changed.json["name"], changed.json["department"]) == ("  Old  name ", "a  b")
    assert admin.patch(f"/api/users/{row.id}", json={"name": "  Old  name "}).json["name"] == "Old name"
    assert given.found(User, row.id).department == "a  b"


def test_commands_store_what_the_api_would(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    told = ("--name", SENT, "--department", " ops ", "--group", "a \xa0 b")
    done = instance.run("user", "add", "ada@example.org", *told)
    assert done.returncode == 0, done.stderr
    assert instance.run("token", "add", "ada@example.org", "--scope", "read:users", "--name", SENT).returncode == 0
    assert f"  {KEPT}: read:users" in instance.run("token", "list", "ada@example.org").stdout
    with instance.answering() as service:
        row = service.call("GET", "/api/users?email=ada@example.org", token=service.log_in())[1]["items"][0]
    assert (row["name"], row["department"], row["groups"]) == (KEPT, "ops", ["a b"])
    refused = instance.run("user", "add", "bea@example.org", "--name", "  ")
    assert (refused.returncode, refused.stderr) == (1, "Error: Must not be blank.\n")
