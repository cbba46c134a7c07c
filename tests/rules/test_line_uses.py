"""Uses of rules are stored by day: each once, despite database failures, and also at the end of a process."""

from __future__ import annotations

import pytest

from gatepost.http.request.identity import guest
from gatepost.rules import line_uses
from gatepost.rules.line_uses import LineUses
from gatepost.testing import log_in
from models.base import DAY, later
from models.engine.errors import Unavailable
from models.tables.policy_use import KEPT, PolicyCounter, PolicyUse, counted_since, note_uses, purge, used_since
from policies import Policy
from policies.usage.lines import digest
from tests.apps import Given, close, make_app, new_instance
from tests.databases import new_database

PUBLISHED, OWN = ("guest", "published"), ("user", "own")


@pytest.fixture(params=["sqlite", "postgres"])
def app(request, tmp_path):
    url = new_database(request.param, request)
    made = make_app(new_instance(tmp_path / "instance", url, "default"), url)
    yield made
    close(made)


@pytest.fixture
def services(app):
    return app.extensions["gatepost"]


@pytest.fixture
def given(app):
    return Given(app, "default")


@pytest.fixture
def lines(services) -> LineUses:
    """A second counter for the policy of the app, beside the app's own."""
    return LineUses(services.database, services.policy.current)


def stored(services, policy: Policy | None = None) -> dict[tuple[str, str, str], int]:
    """Returns (role, condition, permission) of a rule → number of uses."""
    known = {digest(rule): rule for rule in (policy or services.policy.current).rules}
    with services.database.connected():
        return {(known[line].sub, known[line].when, permission): used.times
                for (line, permission), used in used_since(later(-DAY)[:10]).items()}


def test_a_row_and_a_page_count_for_the_lines_that_show_them(app, services, given, lines):
    zoe = given.user()
    caller, mine = log_in(app, zoe), given.article("draft", owner_id=zoe.id)
    public = given.article()
    assert caller.get(f"/api/articles/{public.id}").status_code == 200
    lines.store()
    assert stored(services).keys() == {(*PUBLISHED, "article.view")}
    assert caller.get(f"/api/articles/{mine.id}").status_code == 200
    lines.store()
    assert stored(services).keys() == {(*PUBLISHED, "article.view"), (*OWN, "article.view"),
                                       (*OWN, "article.view_private")}
    before = stored(services)
    assert len(caller.get("/api/articles").json["items"]) == 2
    lines.store()
    assert stored(services) == {key: times + 1 for key, times in before.items()}


def test_an_export_and_what_is_expanded_count_too(app, services, given, lines):
    editor = log_in(app, given.user("editor"))
    given.article(category_id=given.category().id)
    assert editor.get("/api/articles/export").status_code == 200
    assert editor.get("/api/articles?expand=category").status_code == 200
    lines.store()
    assert {("editor", "always", "article.export"), ("guest", "always", "category.view")} <= stored(services).keys()


def test_what_is_explained_or_foretold_is_no_use(app, services, given, lines):
    zoe = given.user()
    owner, caller, mine = log_in(app, given.user("owner")), log_in(app, zoe), given.article("draft", owner_id=zoe.id)
    asked = f"?as={zoe.id}&permission=article.update&id={mine.id}"
    done = owner.get(f"/api/admin/policy/explain{asked}")
    assert (done.status_code, done.json["verdict"]) == (200, "allowed")
    assert "update" in caller.get(f"/api/articles/{mine.id}?fields=allowed_actions").json["allowed_actions"]
    lines.store()
    assert not any(permission == "article.update" for _, _, permission in stored(services))


def use(services, policy: Policy | None = None) -> None:
    """A guest views a published article."""
    asked = policy or services.policy.current
    row = {"id": "1", "owner_id": None, "status": "published"}
    assert asked.settle(guest(services.guest_tenant), "article.view", row, None)


@pytest.mark.both_databases
def test_each_use_is_stored_once_though_the_database_is_away_for_a_while(services, lines, monkeypatch):
    def away(work):
        raise Unavailable("away")

    use(services)
    with monkeypatch.context() as patched, pytest.raises(Unavailable):
        patched.setattr(services.database, "transact", away)
        lines.store()
    use(services)
    lines.store()
    lines.store()
    assert stored(services) == {(*PUBLISHED, "article.view"): 2}


def test_a_policy_that_was_replaced_is_counted_to_its_last_request(services, lines):
    old, file = services.policy.current, services.settings.policies / "articles.csv"
    file.write_text(file.read_text().replace("# end", "p, support, article.view, always, allow\n# end"))
    services.policy.reload()
    assert services.policy.current is not old
    lines.follow(services.policy.current)
    use(services)
    use(services, old)
    lines.store()
    assert stored(services) == {(*PUBLISHED, "article.view"): 2}, "a line is the same line in both"


def spans(services):
    with services.database.connected():
        return counted_since(later(-DAY))


def test_a_process_says_until_when_its_counts_are_stored_and_whether_it_ended(services, lines, monkeypatch):
    lines.store()
    (alive,) = spans(services)
    assert alive.ended is False
    lines.store()
    assert spans(services) == [alive], "with nothing to store it speaks once a minute"
    monkeypatch.setattr(line_uses, "IDLE", -1.0)
    lines.store()
    (later_on,) = spans(services)
    assert later_on.until > alive.until and later_on.since == alive.since
    lines.end()
    assert [span.ended for span in spans(services)] == [True]


@pytest.mark.both_databases
def test_counts_and_processes_go_after_their_time(services):
    def work():
        note_uses("0199f3a0-0000-7000-8000-000000000001", later(-KEPT - DAY), {("l", "article.view"): 1}, ended=True)
        PolicyUse.update(day=later(-KEPT - DAY)[:10]).execute()
        PolicyCounter.update(stored_at=later(-KEPT - DAY)).execute()
        note_uses("0199f3a0-0000-7000-8000-000000000002", later(0), {("l", "article.view"): 2}, ended=False)
        assert purge(later(-KEPT), 10) == 1
        assert [used.times for used in used_since("2000-01-01").values()] == [2]
        assert len(counted_since("2000-01-01T00:00:00.000000Z")) == 1

    services.database.transact(work)
