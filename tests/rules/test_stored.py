"""policy_source=database: all nodes use the newest policy of the database's history. Files on disk are an export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from blueprints.policy_changes import changing as endpoints
from gatepost.rules.change import InDatabase, Overtaken
from gatepost.rules.exported import EDITED
from gatepost.rules.history import HistoryWriter
from models.base import later, new_id
from models.tables import policy_version
from models.tables.audit import Audit, of_tenant
from models.tables.policy_version import COMMAND, HTTP, OPERATOR, PolicyVersion
from policies import PolicyError
from policies.loading.files import own_text
from policies.loading.loader import digest
from tests.apps import Caller, Given, close, log_in, make_app, new_instance
from tests.databases import new_database
from tests.running import Instance

OPEN = "p, guest, product.view, always, allow"
UNKNOWN = "p, guest, product.weigh, always, allow"
CASES = """
principals: {visitor: {role: guest}}
objects: {order: {sold: {status: pending}}}
cases: [{name: guests and orders, who: [visitor], what: [sold], may: [MAY]}]
"""


class Node:
    """An instance folder, and an app on it while it runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.app = None

    def start(self) -> Node:
        self.app = make_app(self.folder, self.url, policy_source="database", policy_edit="on")
        return self

    def stop(self) -> None:
        if self.app is not None:
            close(self.app)
            self.app = None

    @property
    def services(self):
        return self.app.extensions["gatepost"]

    @property
    def policy(self):
        return self.services.policy

    @property
    def policies(self) -> Path:
        return self.folder / "policies"

    @property
    def sees_drafts(self) -> bool:
        """True if a guest sees an archived product."""
        return self.app.test_client().get("/api/products?status=archived").get_json()["items"] != []

    def health(self, caller=None):
        return (caller or self.app.test_client()).get("/api/health").get_json()

    def changing(self) -> InDatabase:
        found = InDatabase.of(self.services.settings, self.services.registry, self.services.database,
                              self.services.guest_tenant)
        assert isinstance(found, InDatabase)
        return found

    def put_in_force(self, files: dict[str, bytes | None]) -> str:
        """Puts the current files with these replacements in force, as a command does."""
        changing = self.changing()
        candidate = changing.candidate(files)
        changing.put_in_force(candidate, COMMAND, OPERATOR)
        return candidate.policy.version

    def with_line(self, line: str, name: str = "products.csv") -> dict[str, bytes | None]:
        return {name: own_text((self.policies / name).read_bytes()).replace(b"# end", line.encode() + b"\n# end")}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request):
    return new_database(request.param, request)


@pytest.fixture
def nodes(tmp_path, url):
    """Two nodes. The first is started."""
    first = Node(new_instance(tmp_path / "a" / "instance", url, "default"), url)
    second = Node(new_instance(tmp_path / "b" / "instance", url, "default", keys=first.folder / "secret.key"), url)
    first.start()
    yield first, second
    first.stop()
    second.stop()


@pytest.fixture
def first(nodes):
    return nodes[0]


@pytest.fixture
def second(nodes):
    return nodes[1].start()


def administrator(node: Node) -> Caller:
    return log_in(node.app, Given(node.app, "default").user("admin"))


def versions_of(node: Node):
    with node.services.database.connected():
        return list(policy_version.listed())


def put_by_newer_code(node: Node) -> str:
    """Stores a policy of a newer program with more permissions."""
    files = {name: text.decode() for name, text in node.policy.current.files.items()}
    files["products.csv"] = files["products.csv"].replace("# end", f"{UNKNOWN}\n# end")
    version = digest({name: text.encode() for name, text in files.items()})
    row = PolicyVersion(id=new_id(), version=version, applied_at=later(0), cause=COMMAND, author=OPERATOR, late=False,
                        files=json.dumps(files), packaged="[]")
    assert node.services.database.transact(lambda: policy_version.append_after(row, lambda _: True))
    return version


@pytest.mark.both_databases
def test_the_first_node_puts_its_files_in_force_and_the_second_follows_whatever_its_own_were(nodes):
    first, second = nodes
    file = second.policies / "products.csv"
    file.write_text(file.read_text().replace("# end", f"{OPEN}\n# end"))
    second.start()
    assert second.policy.current.version == first.policy.current.version
    assert [(row.cause, row.author) for row in versions_of(first)] == [("start", "system")]
    assert file.read_text().startswith("# Exported from the database: policy ")
    assert OPEN in file.with_name(file.name + EDITED).read_text() and OPEN not in file.read_text()
    assert second.policy.drift is None


def test_a_policy_put_in_force_on_one_node_is_in_force_on_the_other_after_its_next_look(first, second):
    Given(first.app, "default").product(status="archived")
    version = first.put_in_force(first.with_line(OPEN))
    for node in (first, second):
        assert not node.sees_drafts, "not before it looks"
        assert node.policy.poll().version == version == node.policy.current.version
        assert node.sees_drafts
        assert own_text((node.policies / "products.csv").read_bytes()) == node.policy.current.files["products.csv"]
        assert node.policy.drift is None
    assert versions_of(first)[0].version == version and len(versions_of(first)) == 2


def test_the_audit_event_of_a_change_knows_who_asked_for_it_whichever_node_writes_it(first, second):
    changing, origin = first.changing(), {"role": "admin", "address": "192.0.2.7", "request_id": "a-request"}
    changing.put_in_force(changing.candidate(first.with_line(OPEN)), HTTP, "user:x", "why", origin)
    HistoryWriter(second.services.database, second.folder, second.services.registry.vocabulary,
           second.services.guest_tenant, {}, second.policies).store()
    with first.services.database.connected():
        [row] = of_tenant(first.services.guest_tenant).where(Audit.action == "apply")
    assert {name: getattr(row, name) for name in origin} == origin
    assert versions_of(first)[0].origin is None


def test_a_restart_uses_what_was_put_in_force_meanwhile(nodes):
    first, second = nodes
    second.start().stop()
    version = first.put_in_force(first.with_line(OPEN))
    assert second.start().policy.current.version == version


@pytest.mark.parametrize(("change", "named"), [
    (lambda folder: (folder / "orders.csv").write_text(f"{OPEN}\n# end\n"), "orders.csv"),
    (lambda folder: (folder / "mine.csv").write_text(f"{OPEN}\n# end\n"), "mine.csv"),
    (lambda folder: (folder / "orders.csv").unlink(), "orders.csv"),
    (lambda folder: (folder / "tests.yaml").write_text(CASES), "tests.yaml"),
], ids=["edited", "added", "taken away", "cases"])
def test_a_change_of_the_export_has_no_effect_and_is_named(first, change, named):
    before = first.policy.current.version
    change(first.policies)
    assert first.policy.poll().version == before and first.policy.trouble is None
    assert named in first.policy.drift and "gatepost policy apply DIR" in first.policy.drift
    assert first.health()["checks"]["policy"] == "degraded"
    [finding] = [one for one in first.health(administrator(first))["findings"] if one["check"] == "policy"]
    assert "without effect" in finding["detail"]


def test_an_edited_file_stays_until_another_policy_is_in_force_and_is_kept_beside_it_then(nodes):
    first, _ = nodes
    file, text = first.policies / "orders.csv", f"{OPEN}\n# end\n"
    file.write_text(text)
    first.stop()
    first.start()
    assert file.read_text() == text, "a restart throws nothing away"
    first.put_in_force(first.with_line(OPEN))
    first.policy.poll()
    assert file.with_name("orders.csv" + EDITED).read_text() == text
    assert own_text(file.read_bytes()) != text.encode() and first.policy.drift is None


def test_a_node_that_cannot_load_a_policy_keeps_its_last_good_one_also_over_a_restart(nodes, tmp_path):
    first, second = nodes
    second.start()
    good = second.policy.current.version
    version = put_by_newer_code(first)
    second.policy.poll()
    assert second.policy.current.version == good and "product.weigh" in second.policy.status.error
    assert second.health()["checks"]["policy"] == "degraded" and second.health()["status"] == "degraded"
    second.stop()
    assert second.start().policy.current.version == good and second.policy.trouble is not None
    newcomer = Node(new_instance(tmp_path / "c" / "instance", first.url, "default", keys=first.folder / "secret.key"),
                    first.url)
    with pytest.raises(PolicyError, match="product.weigh"):
        newcomer.start()
    assert [row.version for row in versions_of(first)] == [version, good], "it is nobody's business to undo it"
    mended = first.put_in_force({name: text for name, text in first.policy.current.files.items()}
                                | {"mine.csv": b"# end\n"})
    assert second.policy.poll().version == mended and second.policy.trouble is None


@pytest.mark.both_databases
def test_of_two_changes_made_for_one_policy_the_second_is_refused(first, second):
    mine, other = first.changing(), second.changing()
    candidates = [changing.candidate(first.with_line(line)) for changing, line in
                  ((mine, OPEN), (other, "p, support, product.view, always, allow"))]
    mine.put_in_force(candidates[0], COMMAND, OPERATOR)
    with pytest.raises(Overtaken):
        other.put_in_force(candidates[1], COMMAND, OPERATOR)
    assert versions_of(first)[0].version == candidates[0].policy.version


@pytest.mark.both_databases
def test_a_change_is_the_newest_though_the_clock_of_its_node_is_behind(first, second, monkeypatch):
    one = first.put_in_force(first.with_line(OPEN))
    second.policy.poll()
    monkeypatch.setattr("gatepost.rules.history.now", lambda: later(-3600))
    two = second.put_in_force(second.with_line("p, support, product.view, always, allow"))
    assert [row.version for row in versions_of(first)][:2] == [two, one]
    assert first.policy.poll().version == two


def test_cases_belong_to_what_is_in_force_and_every_node_exports_them(first, second):
    cases = CASES.replace("MAY", "").encode()
    with pytest.raises(PolicyError, match="order.approve"):
        first.put_in_force({"tests.yaml": CASES.replace("MAY", "order.approve").encode()})
    assert first.put_in_force({"tests.yaml": cases}) == second.policy.current.version
    second.policy.poll()
    assert own_text((second.policies / "tests.yaml").read_bytes()) == cases
    with pytest.raises(PolicyError, match="guests and orders"):
        second.put_in_force(second.with_line("p, guest, order.approve, always, allow", "orders.csv"))


def test_administrators_change_the_policy_of_all_nodes_over_http(first, second, here):
    admin = administrator(first)
    base = first.policy.current.version
    changes = {"mine.csv": "p, support, order.approve, always, allow\n# end\n"}
    answer = admin.post("/api/admin/policy/apply", json={"files": changes, "base_version": base, "note": "as agreed"})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    assert second.policy.poll().version == answer.get_json()["version"] == first.policy.current.version
    stale = admin.post("/api/admin/policy/apply", json={"files": {"mine.csv": None}, "base_version": base})
    assert (stale.status_code, stale.get_json()["code"]) == (409, "conflict")
    newest = versions_of(first)[0]
    assert (newest.cause, newest.author, newest.note) == ("http", f"user:{admin.user.id}", "as agreed")


def test_a_change_over_http_is_refused_where_another_policy_came_into_force_while_it_was_checked(
        first, second, here, monkeypatch):
    admin, base, versions = administrator(first), first.policy.current.version, []
    checked = endpoints.checked

    def meanwhile(question):
        versions.append(second.put_in_force(second.with_line(OPEN)))
        return checked(question)

    monkeypatch.setattr(endpoints, "checked", meanwhile)
    changes = {"mine.csv": "p, support, order.approve, always, allow\n# end\n"}
    answer = admin.post("/api/admin/policy/apply", json={"files": changes, "base_version": base})
    assert (answer.status_code, answer.get_json()["code"]) == (409, "conflict")
    assert [versions_of(first)[0].version] == versions


def test_health_does_not_wait_for_a_policy_folder_that_hangs(first, monkeypatch):
    def hangs(directory):
        raise AssertionError("a request reads the policy folder")

    monkeypatch.setattr("gatepost.rules.exported._places", hangs)
    assert first.health()["checks"]["policy"] == "ok"


def test_a_file_that_only_a_newer_program_knows_is_not_left_out(first, second):
    before = second.policy.current.version
    for name in ("grants.toml", "../stray.csv", "tests.yaml"):
        files = {name: text.decode() for name, text in first.policy.current.files.items()} | {name: "# end\n"}
        row = PolicyVersion(id=new_id(), version=digest({name: text.encode() for name, text in files.items()}),
                            applied_at=later(0), cause=COMMAND, author=OPERATOR, late=False, files=json.dumps(files),
                            packaged="[]")
        assert first.services.database.transact(lambda row=row: policy_version.append_after(row, lambda _: True))
        assert second.policy.poll().version == before and name in second.policy.status.error
    assert not (second.folder / "stray.csv").exists()


class TestCommands:
    @pytest.fixture
    def instance(self, first) -> Instance:
        return Instance(first.folder, {"GATEPOST_DATABASE_URL": first.url, "GATEPOST_POLICY_SOURCE": "database"})

    def test_a_folder_is_put_in_force_and_taken_back(self, first, second, instance, tmp_path):
        base = first.policy.current.version
        trial = shutil.copytree(first.policies, tmp_path / "trial")
        file = trial / "products.csv"
        file.write_text(file.read_text().replace("# end", f"{OPEN}\n# end"))
        done = instance.run("policy", "apply", str(trial), "--note", "a trial", "--yes")
        assert done.returncode == 0, done.stderr
        second.policy.poll()
        number = [own_text(line) for line in file.read_bytes().splitlines()].index(OPEN.encode())
        assert f"products.csv:{number}" in done.stdout, "the export's first line is not counted"
        assert second.policy.current.version == versions_of(first)[0].version != base
        assert b"Exported" not in second.policy.current.files["products.csv"]
        done = instance.run("policy", "revert", base, "--yes")
        assert done.returncode == 0, done.stderr
        assert second.policy.poll().version == base
        assert [row.cause for row in versions_of(first)] == ["revert", "command", "start"]

    def test_an_edit_of_the_export_is_a_warning_of_check_and_a_finding_of_doctor(self, first, instance):
        assert instance.run("policy", "check", "--strict").returncode == 0
        file = first.policies / "products.csv"
        file.write_text(file.read_text().replace("# end", "# mine\n# end"))
        done = instance.run("policy", "check", "--strict")
        assert (done.returncode, "products.csv: warning: this edit has no effect" in done.stdout) == (1, True)
        assert "products.csv" in instance.run("doctor").stdout

    def test_a_file_that_is_gone_is_nothing_to_accept(self, instance):
        done = instance.run("policy", "accept", "--yes")
        assert (done.returncode, "has no effect" in done.stderr) == (2, True)

    def test_a_shipped_file_is_adopted_into_the_database(self, first, second, instance):
        done = instance.run("policy", "adopt", "tests")
        assert done.returncode == 0, done.stderr
        second.policy.poll()
        assert (second.policies / "tests.yaml").exists() and versions_of(first)[0].note == "adopt tests.yaml"

    def test_a_new_node_begins_with_the_export(self, first, url, tmp_path):
        first.put_in_force(first.with_line(OPEN))
        folder = tmp_path / "new" / "instance"
        folder.mkdir(parents=True, mode=0o700)
        shutil.copy(first.folder / "secret.key", folder)
        new = Instance(folder, {"GATEPOST_DATABASE_URL": url, "GATEPOST_POLICY_SOURCE": "database"})
        assert new.run("init", "--no-demo").returncode == 0
        assert OPEN in (folder / "policies" / "products.csv").read_text()
        assert (folder / "policies" / "README.md").exists() and not list((folder / "policies").glob(f"*{EDITED}"))
        done = new.run("policy", "check")
        assert (done.returncode, "no effect" in done.stdout) == (0, False)
