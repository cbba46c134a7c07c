"""The answers, reports and logs of a service while its policy files are edited and broken."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager

import pytest

from tests.running import Instance, wait_until

BROKEN = ("published, allow", "published, dney")
OPENED = ("# end", "p, guest, article.export, published, allow\n# end")
CLOSED = ("# end", "p, guest, article.export, anonymous, deny\n# end")
CASES = """principals: {visitor: {role: guest}}
objects: {article: {a draft: {status: draft}}}
cases: [{name: drafts stay closed, who: visitor, what: a draft, may: []}]
"""


@pytest.fixture
def instance(tmp_path):
    return Instance(tmp_path / "instance").made()


def edit(instance, change, name="articles.csv"):
    file = instance.folder / "policies" / name
    text = "".join(" ".join(line.split()) + "\n" for line in file.read_text().splitlines())
    assert change[0] in text
    file.write_text(text.replace(*change))


@contextmanager
def serving(instance):
    """Yields a served instance. `said` has its log."""
    said: list[str] = []
    with instance.served() as server:
        reader = threading.Thread(target=lambda: said.extend(server.process.stderr))
        reader.start()
        server_said = Said(server, said)
        try:
            yield server_said
        finally:
            server.process.terminate()
            server.process.wait(timeout=30)
            reader.join()


class Said:
    """A server, and its log lines so far."""

    def __init__(self, server, lines):
        self.server, self.lines = server, lines

    def call(self, *arguments):
        return self.server.call(*arguments)

    def health(self, token=None):
        return self.call("GET", "/api/health", None, token)[1]

    def exports(self):
        """True if guests may download articles, which only the policy decides."""
        return self.call("GET", "/api/articles/export?fields=id")[0] != 401

    def wait_for_line(self, text):
        """Waits until the server has logged this."""
        wait_until(lambda: any(text in line for line in self.lines))


def degraded(server):
    return server.health()["checks"]["policy"] == "degraded"


@pytest.mark.slow
def test_a_broken_edit_is_reported_and_the_last_good_rules_answer_even_after_a_restart(instance):
    with serving(instance) as server:
        good = server.health(server.server.log_in())
        assert good["status"] == "ok" and not server.exports()
        edit(instance, BROKEN)
        wait_until(lambda: degraded(server))
        seen_by_guests = server.health()
        assert seen_by_guests["status"] == "degraded"
        assert seen_by_guests.keys() == {"status", "checks"}, "guests are told no version and no file"
        administrator = server.server.log_in()
        assert server.health(administrator)["policy_version"] == good["policy_version"]
        error = server.health(administrator)["policy_error"]
        assert "articles.csv:" in error and "dney" in error
        assert server.call("GET", "/api/admin/policy", None, administrator)[1]["error"] == error
        assert server.call("GET", "/api/articles")[0] == 200
        server.wait_for_line("`dney` is no effect")
    with serving(instance) as server:
        assert degraded(server)
        administrator = server.server.log_in()
        assert server.health(administrator)["policy_version"] == good["policy_version"]
        assert server.call("GET", "/api/articles")[0] == 200
        server.wait_for_line("started on the last good policy")
        server.wait_for_line("`dney` is no effect")
        doctor = instance.run("doctor")
        assert doctor.returncode == 1
        assert "the files are broken" in doctor.stdout and "dney" in doctor.stdout
        edit(instance, BROKEN[::-1])
        wait_until(lambda: not degraded(server))
        mended = server.health(administrator)
        assert mended == {**good, "policy_version": mended["policy_version"],
                          "written_seconds_ago": mended["written_seconds_ago"]}


@pytest.mark.slow
def test_a_good_edit_is_live_in_seconds_and_in_the_audit_trail_and_at_once_on_a_hangup(instance):
    with serving(instance) as server:
        administrator = server.server.log_in()
        first = server.health(administrator)["policy_version"]
        edit(instance, OPENED)
        wait_until(server.exports)
        second = server.health(administrator)["policy_version"]
        assert second != first
        server.wait_for_line(f"policy {second} replaces {first}")
        administrator = server.server.log_in()  # again: the audit log has it under the new rules
        trail = server.call("GET", "/api/audit?action=create&resource=session", None, administrator)[1]["items"]
        assert trail[0]["policy_version"] == second
        explained = server.call(
            "GET", "/api/admin/policy/explain?as=guest&permission=article.export", None, administrator)[1]
        assert (explained["verdict"], explained["policy_version"]) == ("depends", second)
        edit(instance, CLOSED)
        server.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not server.exports())
        assert server.server.process.poll() is None


@pytest.mark.slow
def test_a_hangup_before_the_first_request_does_not_end_the_service(instance):
    with serving(instance) as server:
        server.server.process.send_signal(signal.SIGHUP)
        assert server.health()["status"] == "ok"


@pytest.mark.slow
def test_cases_that_fail_keep_new_rules_out(instance):
    (instance.folder / "policies" / "tests.yaml").write_text(CASES)
    with serving(instance) as server:
        administrator = server.server.log_in()
        good = server.health(administrator)
        assert good["status"] == "ok"
        edit(instance, ("# end", "p, guest, article.view, always, allow\n# end"))
        wait_until(lambda: degraded(server))
        assert "tests.yaml:3: drafts stay closed" in server.health(administrator)["policy_error"]
        assert server.health(administrator)["policy_version"] == good["policy_version"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["articles", "model"])
def test_a_shipped_file_that_is_missing_leaves_the_last_good_rules_and_can_be_had_again(instance, name):
    assert instance.run("doctor").returncode == 0
    [file] = (instance.folder / "policies").glob(f"{name}.c*")
    shipped = file.read_text()
    file.unlink()
    with serving(instance) as server:
        health = server.health(server.server.log_in())
        assert health["status"] == "degraded"
        assert f"{file.name}: the file is missing; `gatepost policy adopt {name}` brings it" in health["policy_error"]
        assert server.call("GET", "/api/articles")[0] == 200
        assert instance.run("policy", "adopt", name).returncode == 0
        wait_until(lambda: not degraded(server))
    assert file.read_text() == shipped
    assert instance.run("doctor").returncode == 0


@pytest.mark.slow
def test_the_loss_of_a_shipped_file_is_accepted_by_one_command(instance):
    assert instance.run("doctor").returncode == 0
    file = instance.folder / "policies" / "comments.csv"
    shipped = file.read_text()
    file.unlink()
    with serving(instance) as server:
        assert degraded(server)
        accepted = instance.run("policy", "accept", "--yes")
        assert accepted.returncode == 0 and "comment.view" in accepted.stdout
        wait_until(lambda: not degraded(server))
        assert server.call("GET", "/api/comments")[0] == 401
    for command in (("policy", "check"), ("doctor",), ("migrate", "--check"), ("policy", "matrix")):
        assert instance.run(*command).returncode == 0, command
    with serving(instance) as server:
        assert not degraded(server)
        file.write_text(shipped)
        wait_until(lambda: server.call("GET", "/api/comments")[0] == 200)


@pytest.mark.parametrize("name", ["model.conf", "roles.csv"])
def test_nothing_goes_without_the_model_and_the_roles(instance, name):
    assert instance.run("doctor").returncode == 0
    (instance.folder / "policies" / name).unlink()
    refused = instance.run("policy", "accept", "--yes")
    assert refused.returncode == 2 and f"{name}: the file is missing" in refused.stderr


@pytest.mark.slow
def test_a_fifo_among_the_files_stops_neither_the_rules_nor_the_stop(instance):
    with serving(instance) as server:
        os.mkfifo(instance.folder / "policies" / "waiting.csv")
        wait_until(lambda: degraded(server))
        assert server.call("GET", "/api/articles")[0] == 200
        server.wait_for_line("waiting.csv: this is not a regular file")
        doctor = instance.run("doctor")
        assert doctor.returncode == 1 and "waiting.csv: this is not a regular file" in doctor.stdout
        edit(instance, OPENED)
        (instance.folder / "policies" / "waiting.csv").unlink()
        wait_until(server.exports)  # the folder is followed again
        os.mkfifo(instance.folder / "policies" / "waiting.csv")
        wait_until(lambda: degraded(server))
        server.server.process.terminate()
        assert server.server.process.wait(timeout=30) == 0


def test_a_folder_that_does_not_answer_makes_health_degraded(app, as_role, monkeypatch):
    watcher = app.extensions["gatepost"].policy
    monkeypatch.setattr(type(watcher), "age", 12.0)
    told = as_role("owner").get("/api/health").get_json()
    assert told["checks"]["policy"] == told["status"] == "degraded"
    assert "the policy folder does not answer, for 12 s now" in told["policy_error"]
    assert "does not answer" in as_role("owner").get("/api/admin/policy").get_json()["error"]
