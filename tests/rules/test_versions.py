"""`GET /api/admin/policy/versions`: the policy history over HTTP."""

from __future__ import annotations

import pytest

from models.base import new_id
from models.tables import policy_version


@pytest.fixture(scope="module")
def changed(app):
    """The app after two changes of its policy: a rule for a user of another tenant was added, then a comment."""
    services = app.extensions["gatepost"]
    file = services.settings.policies / "orders.csv"
    stranger = new_id()
    for line in (f"p, user:{stranger}, order.approve, always, allow", "# a remark"):
        file.write_text(file.read_text().replace("# end", f"{line}\n# end"))
        services.policy.reload()
    task = next(one for one in services.background._tasks if one.name == "writing the policy history")
    task.run()
    return services, stranger


def test_pages_walk_the_history_from_the_newest_on(changed, as_role):
    services, _ = changed
    developer, seen = as_role("developer"), []
    path = "/api/admin/policy/versions?limit=1"
    for _ in range(3):
        page = developer.get(path).get_json()
        seen += page["items"]
        path = f"/api/admin/policy/versions?limit=1&after={page['next_cursor']}"
    assert not page["has_next"]
    with services.database.connected():
        assert [one["version"] for one in seen] == [row.version for row in policy_version.listed()]
    assert [one["cause"] for one in seen] == ["files", "files", "start"]
    assert set(seen[0]) == {"version", "applied_at", "cause", "by", "note", "late", "changes"}


def test_a_version_has_its_files(changed, as_role):
    services, _ = changed
    version = services.policy.current.version
    found = as_role("developer").get(f"/api/admin/policy/versions/{version[:8]}").get_json()
    assert (found["version"], found["files"].keys()) == (version, services.policy.current.files.keys())
    assert found["files"]["articles.csv"] == services.policy.current.files["articles.csv"].decode()


def test_nothing_is_told_of_persons_of_other_tenants(changed, as_role):
    _, stranger = changed
    for path in ("/api/admin/policy/versions", f"/api/admin/policy/versions/{changed[0].policy.current.version}"):
        answer = as_role("owner").get(path)
        assert answer.status_code == 200 and stranger not in answer.text
    assert "# a rule about a user of another tenant is left out" in answer.get_json()["files"]["orders.csv"]


@pytest.mark.parametrize("version", ["0" * 16, "short", "%25" * 8, "_" * 8, "x" * 500])
def test_an_unknown_version_is_404(version, changed, as_role):
    assert as_role("admin").get(f"/api/admin/policy/versions/{version}").status_code == 404


@pytest.mark.parametrize(("role", "status"), [("guest", 401), ("user", 403), ("manager", 403), ("developer", 200)])
def test_it_needs_policy_view(role, status, changed, as_role):
    version = changed[0].policy.current.version
    for path in ("/api/admin/policy/versions", f"/api/admin/policy/versions/{version}"):
        assert as_role(role).get(path).status_code == status
