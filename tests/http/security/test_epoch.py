"""After a restore, earlier cursors and entity tags are no longer valid."""

from __future__ import annotations

import pytest

from models.tables.instance import Instance
from tests.http.described import check_problem

EPOCH = "0badcafe"


@pytest.fixture
def services(app):
    return app.extensions["gatepost"]


@pytest.fixture
def restored(services):
    """Restores a backup in another process, which this process notices."""
    def begin(epoch):
        with services.database.connected():
            Instance.update({Instance.epoch: epoch}).execute()
        services.epoch.refresh()

    yield lambda: begin(EPOCH)
    begin("")


@pytest.fixture
def editor(as_role):
    return as_role("editor")


def test_a_cursor_of_before_has_expired_and_a_new_one_holds(editor, given, restored):
    for _ in range(3):
        given.article("published")
    follow = editor.get("/api/articles?limit=1").get_json()["next_cursor"]
    restored()
    check_problem(editor.get(f"/api/articles?limit=1&after={follow}"), 400, "cursor_expired")
    follow = editor.get("/api/articles?limit=1").get_json()["next_cursor"]
    assert editor.get(f"/api/articles?limit=1&after={follow}").status_code == 200


def test_an_entity_tag_of_before_guards_nothing_and_saves_nothing(editor, given, restored):
    path = f"/api/articles/{given.article('published').id}"
    before = editor.get(path).headers["ETag"]
    restored()
    now = editor.get(path, headers={"If-None-Match": before})
    assert (before, now.status_code, now.headers["ETag"]) == ('"1"', 200, f'"{EPOCH}.1"')
    refused = editor.patch(path, {"title": "A title"}, headers={"If-Match": before})
    check_problem(refused, 412, "version_conflict")
    assert refused.headers["ETag"] == f'"{EPOCH}.1"'


def test_an_entity_tag_of_the_new_epoch_does_both(editor, given, restored):
    path = f"/api/articles/{given.article('published').id}"
    restored()
    tag = editor.get(path).headers["ETag"]
    assert editor.get(path, headers={"If-None-Match": tag}).status_code == 304
    part = editor.get(f"{path}?fields=title").headers["ETag"]
    assert part.startswith(f'"{EPOCH}.1-')
    changed = editor.patch(path, {"title": "A title"}, headers={"If-Match": part})
    assert (changed.status_code, changed.headers["ETag"]) == (200, f'"{EPOCH}.2"')


def test_a_hidden_version_is_another_one_in_another_epoch(as_role, given, restored):
    path = f"/api/users/{given.user(role='user').id}"
    reader = as_role("support")
    before = reader.get(path).headers["ETag"]
    restored()
    after = reader.get(path).headers["ETag"]
    assert before.startswith('"h') and after.startswith('"h') and before != after


def test_the_tenant_of_guests_is_looked_up_anew(services, restored):
    services.guest_tenant = "unknown"
    restored()
    assert services.guest_tenant != "unknown"
