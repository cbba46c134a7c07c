"""`POST /api/admin/policy/try` and `…/apply`: a change of the rules is tried over HTTP, and then applied."""

from __future__ import annotations

import fcntl
import time
from types import SimpleNamespace

import pytest

from blueprints.policy_changes import changing as endpoints
from blueprints.policy_changes import child, trial
from gatepost.http.protocol.problems import Problem
from gatepost.rules.change import InFiles
from gatepost.rules.history import HistoryWriter
from models.base import Rows, new_id
from models.tables import policy_version
from models.tables.audit import Audit, of_tenant
from models.tables.user import User
from policies import SHIPPED
from tests.apps import Caller, Given, close, log_in, make_app, new_instance
from tests.databases import new_database

TRY, APPLY = "/api/admin/policy/try", "/api/admin/policy/apply"
APPROVING = "p, support, order.approve, always, allow\n# end\n"
OPEN_DRAFTS = "p, guest, article.view, always, allow\n# end\n"


def attempt(caller, files, **more):
    answer = caller.post(TRY, json={"files": files, **more})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def test_a_trial_says_who_gains_what_by_which_line_and_changes_nothing(app, as_role, given, here):
    given.article(status="draft")
    live = app.extensions["gatepost"].policy.current.version
    found = attempt(as_role("developer"), {"orders_of_support.csv": APPROVING, "more.csv": OPEN_DRAFTS})
    assert (found["base_version"], found["findings_left_out"], found["more_changes"]) == (live, 0, 0)
    assert found["version"] not in (None, live) and found["incomplete"] == {} and found["replay"] is None
    approving = [one for one in found["changes"] if one["permission"] == "order.approve"]
    told = ("role", "user", "sign", "before", "after", "lines")
    assert [tuple(map(one.get, told)) for one in approving] == [
        ("support", None, "+", None, "always", ["orders_of_support.csv:1"])]
    viewing = {one["role"]: one for one in found["changes"] if one["permission"] == "article.view"}
    assert viewing["user"]["example"]["gained"] and viewing["user"]["user"] is None
    assert {one["severity"] for one in found["findings"]} == {"warning"}
    assert app.extensions["gatepost"].policy.current.version == live
    assert not (app.extensions["gatepost"].settings.policies / "more.csv").exists()


def test_a_role_of_a_group_is_listed_apart_because_it_changes_no_decision(as_role, here):
    roles = (SHIPPED / "roles.csv").read_text().replace("# end", "g, oidc:team/editors, editor\n# end")
    found = attempt(as_role("developer"), {"roles.csv": roles})
    assert (found["changes"], found["groups"]) == ([], ["+ g, oidc:team/editors, editor"])
    assert attempt(as_role("developer"), {"more.csv": APPROVING})["groups"] == []


def test_the_rows_that_appear_are_counted(as_role, given, here):
    given.article(status="draft")
    [guests] = [one for one in attempt(as_role("admin"), {"more.csv": OPEN_DRAFTS})["rows"]["changes"]
                if one["role"] == "guest"]
    assert guests["permission"] == "article.view" and guests["gained"]["rows"] >= 1 and guests["lost"]["rows"] == 0


@pytest.mark.parametrize(("files", "finding"), [
    ({"more.csv": "p, support, order.aprove, always, allow\n# end\n"}, ("more.csv", 1, "did you mean order.approve?")),
    ({"more.csv": "p, support, order.approve, always, allow\n"}, ("more.csv", None, "# end")),
    ({"orders.csv": None}, ("orders.csv", 0, "")),
    ({"model.conf": ""}, ("model.conf", 0, "")),
    ({"more.csv": "p, guest, user.view_private, always, allow\n# end\n"}, ("more.csv", 1, "")),
    ({"tests.yaml": "cases:\n- {as: guest, may: order.approve}\n"}, ("tests.yaml", None, "")),
], ids=["a misspelt permission", "half a file", "a required file goes", "an empty model", "a broken invariant",
        "a case that fails"])
def test_errors_are_findings_with_file_and_line(as_role, here, files, finding):
    found = attempt(as_role("admin"), files)
    file, line, words = finding
    [error] = [one for one in found["findings"] if one["severity"] == "error" and one["file"] == file
               and words in one["message"] and line in (None, one["line"])][:1]
    assert error["message"]
    assert (found["version"], found["changes"], found["invariants"], found["rows"]) == (None, None, None, None)


@pytest.mark.parametrize(("body", "pointer"), [
    ({"files": {"../mine.csv": "x"}}, "/files/..~1mine.csv"),
    ({"files": {"Mine.csv": "x"}}, "/files/Mine.csv"),
    ({"files": {"mine.txt": "x"}}, "/files/mine.txt"),
    ({"files": {"mine.csv\n": "x"}}, "/files/mine.csv\n"),
    ({"files": {".csv": "x"}}, "/files/.csv"),
    ({"files": {"mine.csv": 5}}, "/files/mine.csv"),
    ({"files": {"mine.csv": "x" * (2**20 + 1)}}, "/files/mine.csv"),
    ({"files": {f"f{number}.csv": "x" * 2**20 for number in range(5)}}, "/files"),
    ({"files": ["mine.csv"]}, "/files"),
    ({"files": {"mine.csv": "a\0b"}}, "/files/mine.csv"),
    ({"files": {}, "replay_days": 0}, "/replay_days"),
    ({"files": {}, "replay_days": 367}, "/replay_days"),
    ({}, "/files"),
], ids=lambda value: str(value)[:40])
def test_what_can_be_no_policy_file_is_refused(as_role, body, pointer):
    answer = as_role("admin").post(TRY, json=body)
    assert answer.status_code == 400
    assert answer.get_json()["errors"][0]["pointer"] == pointer


def test_a_body_of_four_mebibytes_is_read_and_one_of_nine_is_not(as_role, here):
    files = {f"f{number}.csv": "#" * (2**20 - 10) + "\n# end\n" for number in range(4)}
    answer = as_role("admin").post(TRY, json={"files": files})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    answer = as_role("admin").post(TRY, json={"files": {"a.csv": "\\" * 9 * 2**20}})
    assert answer.status_code == 413


class TestReplay:
    def test_it_tells_whom_the_change_would_have_let_in(self, app, as_role, given, here):
        support, order = as_role("support"), given.order()
        assert support.post(f"/api/orders/{order.id}/approve").status_code == 403
        app.extensions["gatepost"].audit_writer.flush(early=True)
        [group] = attempt(as_role("owner"), {"more.csv": APPROVING}, replay_days=1)["replay"]["let_in"]["groups"]
        assert (group["permission"], group["line"], group["count"]) == ("order.approve", "more.csv:1", 1)

    def test_it_needs_the_audit_trail(self, as_role):
        answer = as_role("developer").post(TRY, json={"files": {}, "replay_days": 1})
        assert (answer.status_code, "audit.view" in answer.get_json()["detail"]) == (403, True)

    def test_rows_of_another_tenant_are_not_replayed(self, app, as_role, given, here):
        order = given.order()
        assert as_role("support").post(f"/api/orders/{order.id}/approve").status_code == 403
        app.extensions["gatepost"].audit_writer.flush(early=True)
        found = attempt(as_role("owner", tenant="other"), {"more.csv": APPROVING}, replay_days=1)
        assert found["replay"]["let_in"] == {"count": 0, "groups": []}

    def test_facts_that_the_caller_may_not_see_are_unknown(self, under, as_user, given, here):
        """Otherwise a condition could reveal them, one value after the other."""
        app = under(lines={"admin.csv": "p, developer, audit.view, always, allow"})
        article = given.article(status="draft")
        somebody = log_in(app, given.user("user"))
        assert somebody.patch(f"/api/articles/{article.id}", json={"title": "Mine"}).status_code == 404
        app.extensions["gatepost"].audit_writer.flush(early=True)
        model = (app.extensions["gatepost"].settings.policies / "model.conf").read_text()
        always = "    p.when == 'always' || \\\n"
        files = {"model.conf": model.replace(
            always, f"{always}    p.when == 'a_draft' && r.obj.status == 'draft' || \\\n"),
            "more.csv": "p, user, article.*, a_draft, allow\n# end\n"}
        told = {}
        for role in ("developer", "owner"):
            found = attempt(log_in(app, given.user(role)), files, replay_days=1)["replay"]
            told[role] = found["let_in"]["count"], found["unknown"]["count"] > 0
        assert (told["developer"], told["owner"][0] > 0) == ((0, True), True)


def test_rows_do_not_tell_who_is_disabled_to_a_caller_who_may_not_see_it(as_role, given, here):
    given.page(status="draft")
    user = given.user("moderator")
    files = {"more.csv": f"p, user:{user.id}, page.view, always, allow\n# end\n"}
    counted = {}
    for active in (True, False):
        user.active = active
        given.database.transact(lambda: Rows(User, user.tenant_id).save(user))
        for role in ("developer", "admin"):
            counted[role, active] = [(one["permission"], one["gained"]["users"])
                                     for one in attempt(as_role(role), files)["rows"]["changes"]]
    assert counted["developer", True] == counted["developer", False] == [("page.view", 1)]
    assert (counted["admin", True], counted["admin", False]) == ([("page.view", 1)], [])


def test_rows_tell_nothing_of_fields_that_the_caller_may_not_see(app, as_role, given, here):
    """A developer may view users, but not their departments: the impact of a condition on them shows no rows."""
    given.user("support", department="secret")
    given.article(status="draft")
    model = (app.extensions["gatepost"].settings.policies / "model.conf").read_text()
    always = "    p.when == 'always' || \\\n"
    files = {"model.conf": model.replace(
        always, f"{always}    p.when == 'of_secret' && r.sub.department == 'secret' || \\\n"),
        "more.csv": "p, support, page.update, of_secret, allow\np, support, page.view, of_secret, allow\n# end\n"}
    given.page(status="draft")
    counted = {role: [one["permission"] for one in attempt(as_role(role), files)["rows"]["changes"]]
               for role in ("developer", "admin")}
    assert counted == {"developer": [], "admin": ["page.view", "page.update"]}


@pytest.mark.slow
def test_a_process_of_its_own_works_a_trial_out_and_is_ended_when_it_takes_too_long(
        as_role, monkeypatch, instance_folder):
    found = attempt(as_role("admin"), {"more.csv": APPROVING})
    assert [one["permission"] for one in found["changes"]] == ["order.approve"]
    monkeypatch.setattr(child, "LONGEST", 0.05)
    found = attempt(as_role("admin"), {"more.csv": APPROVING})
    assert found["incomplete"] == {"findings": "timeout", "changes": "timeout", "rows": "timeout"}
    with open(instance_folder / "policy.trial.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        answer = as_role("admin").post(TRY, json={"files": {}})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")


@pytest.fixture
def held(tmp_path, monkeypatch):
    """Holds a lock of an instance, and runs a question without a process."""
    monkeypatch.setattr(child, "_run", lambda question: child.Trial())
    question = SimpleNamespace(settings=SimpleNamespace(instance=tmp_path))

    def ask(work, lock):
        with open(tmp_path / lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            return work(question)

    return ask


def test_a_trial_keeps_no_change_from_being_put_in_force(held):
    assert held(child.checked, "policy.trial.lock") == child.Trial()
    assert held(child.tried, "policy.change.lock") == child.Trial()


@pytest.mark.parametrize(("work", "lock"), [(child.tried, "policy.trial.lock"), (child.checked, "policy.change.lock")])
def test_of_each_there_is_one_at_a_time(held, work, lock):
    with pytest.raises(Problem) as refused:
        held(work, lock)
    assert (refused.value.code, refused.value.headers["Retry-After"]) == ("overloaded", "5")


@pytest.mark.slow
def test_a_process_that_works_for_too_long_is_ended(as_role, monkeypatch):
    monkeypatch.setattr(child, "_PROGRAM", "import sys; sys.path[:] = sys.argv[1:]; "
                        "from blueprints.policy_changes import process; process.MOST_WORK = 1; "
                        "process.answer = lambda *_: any(iter(int, 1)); process.main()")
    found = attempt(as_role("admin"), {"more.csv": APPROVING})
    assert found["incomplete"] == {"findings": "timeout", "changes": "timeout", "rows": "timeout"}


def test_what_a_part_waits_for_does_not_count(monkeypatch):
    monkeypatch.setattr(trial, "JUDGING", 0.5)  # other threads of the process count, too
    told = []
    with trial._part("changes", lambda *one: told.append(one)):
        time.sleep(0.6)
    assert told == []


def test_a_part_that_takes_too_long_or_fails_is_said_to_be_incomplete(monkeypatch, capsys):
    monkeypatch.setattr(trial, "JUDGING", 0.05)
    told = []
    with trial._part("changes", lambda *one: told.append(one)):
        while True:
            try:
                sum(range(100_000))
            except Exception:
                continue
    with trial._part("replay", lambda *one: told.append(one)):
        raise ValueError("broken")
    assert told == [("incomplete", ("changes", "timeout")), ("incomplete", ("replay", "failed"))]
    assert "ValueError: broken" in capsys.readouterr().err


class TestApply:
    @pytest.fixture
    def edited(self, request, tmp_path, database_url):
        """A separate app whose policies change over HTTP, on a database without other nodes."""
        url = new_database("sqlite" if database_url.startswith("sqlite") else "postgres", request)
        folder = new_instance(tmp_path / "instance", url, "default", "other")
        made = make_app(folder, url, policy_edit="on")
        yield made
        close(made)

    @pytest.fixture
    def admin(self, edited):
        return administrator(edited, "default")

    def apply(self, caller, files, base, note=None):
        return caller.post(APPLY, json={"files": files, "base_version": base, **({"note": note} if note else {})})

    def test_it_is_off_unless_a_setting_says_otherwise(self, as_role, app):
        answer = self.apply(as_role("admin"), {}, "x")
        assert (answer.status_code, "policy_edit" in answer.get_json()["detail"]) == (403, True)

    def test_what_is_applied_is_in_force_at_once_in_the_files_and_in_the_history(self, edited, admin, here):
        services = edited.extensions["gatepost"]
        base = services.policy.current.version
        answer = self.apply(admin, {"more.csv": APPROVING}, base, "as agreed")
        assert answer.status_code == 200, answer.get_data(as_text=True)
        version = answer.get_json()["version"]
        assert services.policy.current.version == version != base
        assert (services.settings.policies / "more.csv").read_text() == APPROVING
        with services.database.connected():
            newest = next(iter(policy_version.listed()))
            assert (newest.version, newest.cause, newest.author, newest.note) == (
                version, "http", f"user:{admin.user.id}", "as agreed")
        again = self.apply(admin, {"more.csv": APPROVING}, base, "as agreed")
        assert (again.status_code, again.get_json()) == (200, {"version": version}), "an answer that was lost"
        undone = self.apply(admin, {"more.csv": None}, version)
        assert undone.get_json() == {"version": base} and not (services.settings.policies / "more.csv").exists()

    def test_the_audit_event_tells_who_asked_from_where_and_by_which_rule(self, edited, admin, here):
        services = edited.extensions["gatepost"]
        answer = admin.post(APPLY, json={"files": {"more.csv": APPROVING}, "note": "as agreed",
                                         "base_version": services.policy.current.version},
                            environ_base={"REMOTE_ADDR": "192.0.2.7"})
        with services.database.connected():
            assert policy_version.newest().origin["address"] == "192.0.2.7"
        HistoryWriter(services.database, services.settings.instance, services.registry.vocabulary,
                      services.guest_tenant, {}, services.settings.policies).store()
        with services.database.connected():
            [row] = of_tenant(services.guest_tenant).where(Audit.resource == "policy", Audit.action == "apply")
            assert policy_version.newest().origin is None, "nothing personal stays in the history"
        assert (row.principal, row.role, row.address, row.request_id, row.reason) == (
            f"user:{admin.user.id}", "admin", "192.0.2.7", answer.headers["X-Request-ID"], "as agreed")
        assert row.rule.startswith("admin.csv:") and row.facts["cause"] == "http"
        assert row.policy_version == answer.get_json()["version"]

    @pytest.mark.parametrize(("change", "status"), [({"active": False}, 401), ({"role": "user"}, 403)])
    def test_who_may_no_longer_do_it_once_the_files_are_checked_changes_nothing(
            self, edited, admin, here, monkeypatch, change, status):
        services, checked = edited.extensions["gatepost"], endpoints.checked

        def slowly(question):
            services.database.transact(lambda: User.update(**change).where(User.id == admin.user.id).execute())
            return checked(question)

        monkeypatch.setattr(endpoints, "checked", slowly)
        base = services.policy.current.version
        assert self.apply(admin, {"more.csv": APPROVING}, base).status_code == status
        assert services.policy.current.version == base and not (services.settings.policies / "more.csv").exists()

    def test_a_change_for_another_version_is_refused(self, edited, admin, here):
        services = edited.extensions["gatepost"]
        answer = self.apply(admin, {"more.csv": APPROVING}, "0123456789abcdef")
        assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
        assert services.policy.current.version in answer.get_json()["detail"]
        assert not (services.settings.policies / "more.csv").exists()

    @pytest.mark.parametrize("line", ["p, support, order.aprove, always, allow", "# not looked at yet"])
    def test_files_on_the_disk_that_are_broken_or_were_just_changed_are_not_written_over(
            self, edited, admin, here, line):
        services = edited.extensions["gatepost"]
        file = services.settings.policies / "orders.csv"
        text = file.read_text().replace("# end", f"{line}\n# end")
        file.write_text(text)
        for path, more in ((APPLY, {"base_version": services.policy.current.version}), (TRY, {})):
            answer = admin.post(path, json={"files": {"orders.csv": "# end\n"}, **more})
            assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
        assert file.read_text() == text

    def test_what_another_process_has_just_put_in_force_is_what_a_change_is_made_of(
            self, edited, admin, here):
        services = edited.extensions["gatepost"]
        twin = make_app(services.settings.instance, services.settings.database_url)
        version = self.apply(admin, {"more.csv": APPROVING}, services.policy.current.version).get_json()["version"]
        elsewhere = Caller(twin.test_client(), admin.user, admin.token)
        found = attempt(elsewhere, {"more.csv": None})
        close(twin)
        assert (found["base_version"], [one["sign"] for one in found["changes"]]) == (version, ["-"])

    def test_errors_are_faults_and_nothing_is_written(self, edited, admin, here):
        services = edited.extensions["gatepost"]
        answer = self.apply(admin, {"more.csv": "p, support, order.aprove, always, allow\n# end\n"},
                            services.policy.current.version)
        assert answer.status_code == 400
        assert {"file": "more.csv", "line": 1} in [fault["meta"] for fault in answer.get_json()["errors"]]
        assert not (services.settings.policies / "more.csv").exists()

    def test_lines_about_users_of_another_tenant_stay(self, edited, here):
        services = edited.extensions["gatepost"]
        admin, other = administrator(edited, "default"), administrator(edited, "other")
        line = f"p, user:{other.user.id}, order.approve, always, allow"
        file = services.settings.policies / "orders.csv"
        file.write_text(file.read_text().replace("# end", f"{line}\n# end"))
        services.policy.reload()
        base, text = services.policy.current.version, file.read_text()
        for changed in (text.replace(line, "# a rule about a user of another tenant is left out"),
                        text.replace("# end", f"p, user:{new_id()}, order.approve, always, allow\n# end")):
            answer = self.apply(admin, {"orders.csv": changed}, base)
            assert (answer.status_code, answer.get_json()["code"]) == (403, "forbidden")
            assert file.read_text() == text
        assert self.apply(other, {"orders.csv": text.replace(f"{line}\n", "")}, base).status_code == 200

    def test_what_conditions_say_of_users_of_another_tenant_stays_too(self, edited, here):
        """Covers ids and keys, in a parameter, and in an operator's condition that a rule uses."""
        services = edited.extensions["gatepost"]
        admin, other = administrator(edited, "default"), administrator(edited, "other")
        mine, far = admin.user.id, other.user.id
        model, orders = (services.settings.policies / name for name in ("model.conf", "orders.csv"))
        always = "    p.when == 'always' || \\\n"
        model.write_text(model.read_text().replace(always, f"{always}    p.when == 'vip' && r.sub.id == '{far}' && \\\n"
                                                   "      r.obj.status == 'pending' || \\\n"
                                                   "    p.when == 'person:' + r.sub.id || \\\n"))
        orders.write_text(orders.read_text().replace("# end", f"p, user, order.approve, person:{far}, allow\n# end"))
        services.policy.reload()
        assert services.policy.status.error is None
        base, text, lines = services.policy.current.version, model.read_text(), orders.read_text()

        def with_condition(asked):
            return {"model.conf": text.replace(always, f"{always}    p.when == 'odd' && {asked} || \\\n"),
                    "more.csv": "p, support, order.approve, odd, allow\n# end\n"}

        def with_line(when):
            return {"more.csv": f"p, support, order.approve, {when}, allow\n# end\n"}

        ways = ("r.sub.id == '{}'", "r.sub.id != '{}'", "r.sub.key == 'user:{}'", "g(r.sub.key, 'user:{}')",
                "r.obj.owner_id == '{}'", "(r.obj.status == 'pending' || r.sub.id == '{}')")
        theirs = {
            **{f"{way} {whose}": with_condition(way.format(id)) for way in ways
               for whose, id in (("of another tenant", far), ("of nobody", new_id()))},
            "a line with their condition": with_line("vip"), "a parameter": with_line(f"person:{far}"),
            "nobody's": with_line(f"person:{new_id()}"),
            "a wider condition": {"model.conf": text.replace("      r.obj.status == 'pending'",
                                                             "      r.obj.status == 'approved'")},
            "no condition": {"model.conf": text.replace(f" && r.sub.id == '{far}'", "")},
            "without the line": {"orders.csv": lines.replace(f"p, user, order.approve, person:{far}, allow\n", "")},
            "an invariant": {"invariants.csv": f"atmost, user, order.ship, person:{far}\n# end\n"},
        }
        assert all(files.get("model.conf") != text for files in theirs.values())
        answers = {name: self.apply(admin, files, base) for name, files in theirs.items()}
        assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 403} == {}
        assert {answer.get_json()["code"] for answer in answers.values()} == {"forbidden"}
        assert (services.policy.current.version, model.read_text(), orders.read_text()) == (base, text, lines)
        for files in (with_condition(f"r.sub.id == '{mine}'"), with_line(f"person:{mine}"), with_condition(
                "r.obj.status == 'pending'"), {"orders.csv": lines.replace("# end", "# mine\n# end")}):
            answer = self.apply(admin, files, services.policy.current.version)
            assert answer.status_code == 200, answer.get_data(as_text=True)
        files = {"orders.csv": lines.replace(f"p, user, order.approve, person:{far}, allow\n", "")}
        assert self.apply(other, files, services.policy.current.version).status_code == 200

    def test_a_folder_that_cannot_be_written_is_no_fault_of_the_caller(self, edited, admin, here, monkeypatch):
        def full(*args):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(InFiles, "put_in_force", full)
        answer = self.apply(admin, {"more.csv": APPROVING}, edited.extensions["gatepost"].policy.current.version)
        assert (answer.status_code, answer.get_json()["code"]) == (503, "unavailable")


def administrator(app, tenant) -> Caller:
    return log_in(app, Given(app, tenant).user("admin"))
