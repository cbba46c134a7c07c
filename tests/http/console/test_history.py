"""*History*: past versions of the rules, the effect of each change, differences, and the return to a version."""

from __future__ import annotations

import json

import pytest

from blueprints.policy_changes.pages.differing import GAP, GONE, MOST_COMPARED, MOST_SHOWN, NEW, differing, lines
from blueprints.policy_changes.pages.history import _PAGE
from blueprints.policy_changes.pages.outcome import Changes, Turn, Who
from gatepost.collections.plugins.discovery import discover
from models.base import new_id
from models.engine.connect import open_database
from models.migrate import upgrade
from models.records.times import later
from models.tables import policy_version
from models.tables.policy_version import PolicyVersion
from tests.apps import Given, close, log_in, make_app, new_instance
from tests.databases import new_database
from tests.http.console.edited import HISTORY, live, store_history, stored, with_line
from tests.http.console.pages import Seen, visit
from tests.plugin_apps import installed, write_sample

APPROVING = "p, support, order.approve, always, allow"
NOTE = "<script>alert(1)</script> \u202egnp.exe " + "n" * 400


def opened(app) -> tuple[str, str]:
    """Opens orders to support as the administrator. Returns the versions before and after."""
    admin, base = log_in(app, Given(app, "default").user("admin", name="Ada Byron")), live(app)
    files = {"orders.csv": with_line(stored(app, "orders.csv"), APPROVING)}
    answer = admin.post("/api/admin/policy/apply", json={"files": files, "note": NOTE, "base_version": base})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    store_history(app)
    return base, live(app)


@pytest.fixture
def changed(edited, here):
    """An app whose orders are open to support, for tests that change its rules; with both versions."""
    return edited, *opened(edited)


@pytest.fixture(scope="module")
def looked_at(unedited, all_here):
    """An app whose orders are open to support, for tests that change no rules; with both versions."""
    return unedited, *opened(unedited)


def versions(seen: Seen) -> list[str]:
    return [link for link in seen.links if link.startswith(f"{HISTORY}/") and "revert" not in link]


@pytest.mark.parametrize(("role", "status"), [
    ("guest", 303), ("user", 403), ("editor", 403), ("developer", 200), ("owner", 200), ("admin", 200)])
def test_whoever_may_view_the_rules_sees_their_history(role, status, app):
    assert visit(app, role).get(HISTORY).status_code == status
    assert visit(app, role).get(f"{HISTORY}/{live(app)}").status_code == status


def test_the_history_tells_when_who_why_and_what_it_allowed(looked_at):
    app, base, now = looked_at
    seen = visit(app, "developer").page(HISTORY)
    assert "Ada Byron" in seen.text and "applied over HTTP" in seen.text
    assert "<script>alert(1)</script> \\u202egnp.exe" in seen.text and "\u202e" not in seen.text
    assert "1 × more access" in seen.text and "order.approve support: never → always" in seen.text
    assert seen.text.index("active") < seen.text.index(base[:8])
    assert {f"{HISTORY}/{base}", f"{HISTORY}/{now}", f"{HISTORY}?from={base}&to={now}"} <= set(seen.links)


def test_one_version_is_shown_with_its_files(looked_at):
    app, base, now = looked_at
    seen = visit(app, "developer").page(f"{HISTORY}/{now[:8]}")
    assert "This is the active version." in seen.text and APPROVING in seen.text
    assert f"{HISTORY}?from={base}&to={now}" in seen.links
    seen = visit(app, "developer").page(f"{HISTORY}/{base}")
    assert "This is an earlier version." in seen.text and APPROVING not in seen.text


@pytest.mark.parametrize("version", ["0123456789abcdef", "x", "%2e%2e", "%00%00%00%00%00%00%00%00", "f" * 400])
def test_a_version_that_never_was_is_not_found(version, app):
    visitor = visit(app, "admin")
    for path in (f"{HISTORY}/{version}", f"{HISTORY}/{version}/revert", f"{HISTORY}?from={version}&to={live(app)}"):
        assert visitor.get(path).status_code in (400, 404), path


def test_two_versions_are_compared_line_by_line_and_in_words(looked_at):
    app, base, now = looked_at
    seen = visit(app, "developer").page(f"{HISTORY}?from={base}&to={now}")
    assert f"added: {APPROVING}" in seen.text and "more access support" in seen.text and "never → always" in seen.text
    seen = visit(app, "developer").page(f"{HISTORY}?from={now}&to={base}")
    assert f"removed: {APPROVING}" in seen.text and "less access support" in seen.text and "always → never" in seen.text
    assert "The files are identical." in visit(app, "developer").page(f"{HISTORY}?from={now}&to={now}").text


def test_the_history_has_pages(edited):
    services = edited.extensions["gatepost"]
    file, text = services.settings.policies / "orders.csv", stored(edited, "orders.csv")
    for number in range(_PAGE):
        file.write_text(with_line(text, f"# {number}"))
        services.policy.reload()
    visitor = visit(edited, "developer")
    first = visitor.page(HISTORY)
    [older] = [link for link in first.links if link.startswith(f"{HISTORY}?after=")]
    second = visitor.page(older)
    [newer] = [link for link in second.links if link.startswith(f"{HISTORY}?before=")]
    assert "service start" in second.text
    assert versions(visitor.page(newer)) == versions(first) and len(versions(first)) == _PAGE
    assert visitor.get(f"{HISTORY}?after=x").status_code == 400


class TestRevert:
    def test_it_is_shown_first_and_brings_the_files_back_with_a_note(self, changed):
        app, base, now = changed
        visitor = visit(app, "admin")
        assert f"{HISTORY}/{base}/revert" in visitor.page(f"{HISTORY}/{now}").links
        path = f"{HISTORY}/{base}/revert"
        seen = visitor.page(path)
        assert f"removed: {APPROVING}" in seen.text and "less access support" in seen.text and live(app) == now
        form = seen.form(path)
        assert form.fields["note"] == f"Restore version {base[:8]}" and form.buttons == [path, f"{path}/try"]
        answer = visitor.post(f"{path}/try", form.fields)
        assert answer.status_code == 200 and "Affected rows" in answer.text and live(app) == now
        answer = visitor.post(path, {**form.fields, "note": "nobody wanted it"})
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{HISTORY}/{base}")
        assert live(app) == base and APPROVING not in stored(app, "orders.csv")
        assert "nobody wanted it" in visitor.page(HISTORY).text
        assert visitor.post(path, form.fields).status_code == 303, "a double click"
        assert "This version is already active." in visitor.page(path).text

    def test_what_is_wrong_with_the_rules_by_now_is_told_at_its_lines(self, changed):
        app, base, now = changed
        database, version = app.extensions["gatepost"].database, "0123456789abcdef"
        with database.connected():
            row = policy_version.named(base)
        files = {**row.files, "orders.csv": with_line(with_line(row.files["orders.csv"], "p, x, y, z"), "p, q")}
        earlier = PolicyVersion(id=new_id(), version=version, applied_at=later(0.001, row.applied_at), cause="start",
                                author="system", late=False, files=json.dumps(files), packaged="[]")
        assert database.transact(lambda: policy_version.append(earlier))
        visitor, path = visit(app, "admin"), f"{HISTORY}/{version}/revert"
        fields = visitor.page(path).form(path).fields
        for place in (path, f"{path}/try"):
            answer = visitor.post(place, fields)
            assert "This change is not valid" in answer.text and "orders.csv:" in answer.text, place
            assert answer.text.count("p takes 4 columns") == 2, place
        assert live(app) == now

    def test_a_file_that_came_later_goes(self, changed):
        app, base, _ = changed
        services = app.extensions["gatepost"]
        (services.settings.policies / "more.csv").write_text("p, support, order.reject, always, allow\n# end\n")
        services.policy.reload()
        visitor, path = visit(app, "admin"), f"{HISTORY}/{base}/revert"
        assert visitor.post(path, visitor.page(path).form(path).fields).status_code == 303
        assert live(app) == base and not (services.settings.policies / "more.csv").exists()

    def test_the_rules_of_a_plugin_stay_as_by_the_command(self, request, tmp_path, here):
        url, folder = new_database("sqlite", request), tmp_path / "instance"
        before = make_app(new_instance(folder, url, "default"), url, policy_edit="on")
        base = live(before)
        close(before)
        write_sample(tmp_path / "site")
        with installed(tmp_path / "site", "sample_notes"):
            database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
            upgrade(database, discover().migrations)
            database.close_all()
            app = make_app(folder, url, policy_edit="on")
            brought, now = opened(app)
            visitor, path = visit(app, "admin"), f"{HISTORY}/{base}/revert"
            seen = visitor.page(path)
            assert base != brought != now and "note." not in seen.text and "notes.csv" not in seen.text
            form = seen.form(path)
            assert json.loads(form.fields["files"]).keys() == {"orders.csv"}
            tried = visitor.post(f"{path}/try", form.fields)
            assert tried.status_code == 200 and "order.approve" in tried.text and "note." not in tried.text
            item = visitor.page(f"{HISTORY}/{brought}/revert")
            assert "less access support" in item.text, "what the history knows is told: the plugin is the same"
            answer = visitor.post(path, form.fields)
            assert (answer.status_code, live(app)) == (303, brought)
            assert not (folder / "policies" / "notes.csv").exists()
            assert "This version is already active." in visitor.page(path).text
            close(app)

    def test_where_other_rules_came_into_force_meanwhile_it_is_shown_once_more(self, changed):
        app, base, _ = changed
        visitor, path = visit(app, "admin"), f"{HISTORY}/{base}/revert"
        form = visitor.page(path).form(path)
        services = app.extensions["gatepost"]
        (services.settings.policies / "orders.csv").write_text(with_line(stored(app, "orders.csv"), "# later"))
        services.policy.reload()
        answer = visitor.post(path, {**form.fields, "note": "mine"})
        seen = Seen.of(answer)
        assert answer.status_code == 409 and "removed: # later" in seen.text and "# later" in stored(app, "orders.csv")
        assert (seen.form(path).fields["note"], seen.form(path).fields["base_version"]) == ("mine", live(app))

    def test_who_may_not_is_refused_and_sees_no_button(self, looked_at):
        app, base, now = looked_at
        path = f"{HISTORY}/{base}/revert"
        form = visit(app, "admin").page(path).form(path)
        for role in ("developer", "user", "guest"):
            visitor = visit(app, role)
            assert visitor.get(path).status_code in (303, 403), role
            assert visitor.post(path, form.fields).status_code in (303, 403) and live(app) == now, role
        visitor = visit(app, "developer")
        for page in (HISTORY, f"{HISTORY}/{now}", f"{HISTORY}/{base}"):
            assert not [link for link in visitor.page(page).links if "/revert" in link]

    def test_where_rules_are_not_changed_over_http_the_command_is_told(self, app):
        services = app.extensions["gatepost"]
        base = live(app)
        (services.settings.policies / "orders.csv").write_text(with_line(stored(app, "orders.csv"), "# later"))
        services.policy.reload()
        visitor, path = visit(app, "admin"), f"{HISTORY}/{base}/revert"
        seen = visitor.page(path)
        assert f"gatepost policy revert {base[:8]}" in seen.text and path not in [form.action for form in seen.forms]
        assert not [link for link in visitor.page(HISTORY).links if "/revert" in link]
        files = {"files": "{}", "base_version": live(app)}
        assert visitor.post(path, files).status_code == 403

    def test_files_that_are_none_are_refused(self, looked_at):
        app, base, now = looked_at
        visitor = visit(app, "admin")
        for files in ("", "x", "[]", "{", '{"../x.csv": "x"}', '{"x.csv": 5}', "[" * 5000):
            answer = visitor.post(f"{HISTORY}/{base}/revert", {"files": files, "base_version": now})
            assert answer.status_code == 400 and live(app) == now, files


class TestDifference:
    def test_it_has_the_numbers_of_both_and_a_few_lines_around(self):
        old = "\n".join(f"line {number}" for number in range(1, 31)) + "\n"
        found = lines(old, old.replace("line 10\n", "other\nand more\n"))
        assert [(one.old, one.new) for one in found if one.kind == GONE] == [(10, 0)]
        assert [(one.new, one.text) for one in found if one.kind == NEW] == [(10, "other"), (11, "and more")]
        assert [(one.old, one.new) for one in found][1] == (7, 7) and found[-1].new == 14
        assert found[0].kind == GAP and len(found) == 10

    def test_files_that_came_and_went_are_different_and_those_alike_are_not(self):
        found = differing({"a.csv": "x\n", "b.csv": "y\n"}, {"b.csv": "y\n", "c.csv": "z\n"})
        assert {name: [one.kind for one in each] for name, each in found.items()} == {"a.csv": [GONE], "c.csv": [NEW]}
        assert differing({"a": "x"}, {"a": "x\n"}) == {"a": []}

    def test_long_texts_with_little_in_common_are_told_as_a_whole_and_cut(self):
        old, new = ("\n".join(f"{word} {number}" for number in range(MOST_COMPARED)) for word in ("a", "b"))
        found = lines(f"first\n{old}\nlast", f"first\n{new}\nlast")
        assert len(found) == MOST_SHOWN + 1 and found[-1].left_out == 2 * MOST_COMPARED + 2 - MOST_SHOWN


def test_a_change_that_is_taken_back_is_told_the_other_way_round():
    one = Turn("more", "order.approve", (Who("support"),), after="always", lines=("orders.csv:3",), gained="x")
    found = Changes((one,), ("− only, owner, audit.*",)).reversed
    [turn] = found.turns
    assert (turn.kind, turn.before, turn.after, turn.lost, turn.gone) == ("less", "always", "", "x", ("orders.csv:3",))
    assert found.invariants == ("+ only, owner, audit.*",)
