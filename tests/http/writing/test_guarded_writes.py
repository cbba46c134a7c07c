"""Fields that a caller may write but not see: unchanged if left out, and never compared for that caller."""

from __future__ import annotations

import json

import pytest

from models.tables.user import User

RULES = "".join(f"p, support, user.{verb}, always, allow\n" for verb in ("update", "export", "import", "disable"))


@pytest.fixture(scope="module")
def open_handed(under):
    return under("", {"users.csv": RULES})


@pytest.fixture
def stranger(open_handed, as_user):
    """A caller who may change, export and import users, and sees only their id, name and role."""
    caller = as_user("support")
    caller.client = open_handed.test_client()
    return caller


@pytest.fixture
def ada(given):
    return given.user("user", name="Ada", department="mathematics", groups=["engine"])


def kept(given, user):
    row = given.found(User, user.id)
    return row.email, row.department, row.groups, row.active


def test_what_was_read_can_be_put_back_and_what_is_hidden_stays(stranger, given, ada):
    path = f"/api/users/{ada.id}"
    answer = stranger.put(path, stranger.get(path).get_json() | {"name": "Ada L."})
    assert (answer.status_code, answer.get_json()["name"]) == (200, "Ada L.")
    assert answer.get_json().keys() == {"id", "name", "role"}
    assert kept(given, ada) == (ada.email, "mathematics", ["engine"], True)


def test_one_who_sees_a_required_field_sends_it_in_a_put(as_role, ada):
    answer = as_role("owner").put(f"/api/users/{ada.id}", {"name": "Ada"})
    assert (answer.status_code, answer.get_json()["errors"][0]["code"]) == (400, "missing_field")
    assert answer.get_json()["errors"][0]["pointer"] == "/email"


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize(("field", "right", "wrong"), [
    ("department", "mathematics", "physics"), ("groups", ["engine"], []), ("version", 1, 2), ("active", True, False)])
def test_a_hidden_field_that_cannot_be_set_is_refused_alike_where_it_is_equal(
        stranger, ada, method, field, right, wrong):
    answers = [stranger.call(method, f"/api/users/{ada.id}", {"name": "Ada", field: value}) for value in (right, wrong)]
    assert [answer.status_code for answer in answers] == [400, 400]
    told = [answer.get_json()["errors"] for answer in answers]
    assert told[0] == told[1]
    assert told[0][0]["code"] == "read_only_field"


@pytest.mark.parametrize("media_type", ["application/x-ndjson", "text/csv"])
def test_an_export_can_be_imported_again_and_changes_nothing_that_is_hidden(stranger, given, ada, media_type):
    text = stranger.get("/api/users/export?name=Ada", headers={"Accept": media_type}).text.replace("Ada", "Ida")
    first, *lines = text.splitlines()
    mine = [line for line in [first, *lines] if ada.id in line]
    sent = "\n".join([first, *mine] if media_type == "text/csv" else mine)
    before = kept(given, ada)
    answer = stranger.post("/api/users/import", data=sent.encode(), content_type=media_type)
    assert answer.get_json() == {"imported": 0, "updated": 1, "failed": 0, "errors": []}
    assert (given.found(User, ada.id).name, kept(given, ada)) == ("Ida", before)


def test_an_imported_guess_at_a_hidden_field_is_refused_alike(stranger, ada):
    told = []
    for department in ("mathematics", "physics"):
        line = json.dumps({"id": ada.id, "department": department}).encode()
        answer = stranger.post("/api/users/import", data=line, content_type="application/x-ndjson")
        told.append((answer.status_code, answer.get_json()["errors"]))
    assert told[0] == told[1]
    assert told[0][0] == 400


@pytest.mark.parametrize("name", ["Ada", "Ida"])
def test_an_imported_guess_that_is_right_counts_as_a_change_like_a_wrong_one(stranger, given, ada, name):
    versions = []
    for email in (ada.email, f"{ada.id}@example.org"):
        before = given.found(User, ada.id).version
        line = json.dumps({"id": ada.id, "name": name, "email": email}).encode()
        answer = stranger.post("/api/users/import", data=line, content_type="application/x-ndjson")
        assert answer.get_json()["updated"] == 1
        versions.append(given.found(User, ada.id).version - before)
    assert versions == [1, 1], "a version that stays would tell that the address was known already"


def test_the_refusal_of_an_action_and_its_absence_tell_no_hidden_state(stranger, as_role, given):
    idle, busy = given.user("user", active=False), given.user("user")
    verbs = {user.id: stranger.get(f"/api/users/{user.id}?fields=allowed_actions").get_json() for user in (idle, busy)}
    assert verbs[idle.id] == verbs[busy.id]
    refused = stranger.post(f"/api/users/{idle.id}/disable")
    assert (refused.status_code, "meta" in refused.get_json()["errors"][0]) == (409, False)
    assert as_role("owner").post(f"/api/users/{idle.id}/disable").get_json()["errors"][0]["meta"]["from"] is False
