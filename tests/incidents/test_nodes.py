"""Three nodes on one Postgres, each an instance folder of its own, with the rules in the database."""

from __future__ import annotations

import shutil
from contextlib import ExitStack

import pytest

from models.engine.connect import open_database
from policies.loading.files import own_text
from tests.databases import new_database
from tests.running import Instance, wait_until

pytestmark = pytest.mark.slow

OPEN = "p, guest, product.view, always, allow"


@pytest.fixture(scope="module")
def url(request):
    return new_database("postgres", request)


@pytest.fixture(scope="module")
def environment(url):
    return {"GATEPOST_DATABASE_URL": url, "GATEPOST_POLICY_SOURCE": "database", "GATEPOST_POLICY_EDIT": "on"}


@pytest.fixture(scope="module")
def instances(environment, tmp_path_factory):
    """Three instances: the first one, and two that got its keys and joined."""
    found = [Instance(tmp_path_factory.mktemp("first") / "instance", environment).made()]
    for name in ("second", "third"):
        found.append(joined(found[0], Instance(tmp_path_factory.mktemp(name) / "instance", environment)))
    return found


@pytest.fixture(scope="module")
def served(instances):
    """Three servers: waitress, and granian with two workers twice."""
    with ExitStack() as stack:
        yield [stack.enter_context(one.served(*options)) for one, options in
               zip(instances, ((), ("--workers", "2"), ("--workers", "2")), strict=True)]


def joined(first: Instance, new: Instance) -> Instance:
    new.folder.mkdir(mode=0o700)
    shutil.copy(first.folder / "secret.key", new.folder)
    done = new.run("init", "--no-demo")
    assert done.returncode == 0, done.stderr
    return new


def versions(served, token: str, *, asks: int = 4) -> set[str]:
    """Returns the policies in force. Repeated requests reach each process of a node with high probability."""
    return {server.call("GET", "/api/health", token=token)[1]["policy_version"] for server in served
            for _ in range(asks)}


def test_a_token_of_one_node_is_good_on_all_until_it_ends_on_any(served):
    token = served[0].log_in()
    assert [server.call("GET", "/api/profile", token=token)[0] for server in served] == [200, 200, 200]
    assert served[2].call("POST", "/api/logout", token=token)[0] == 204
    assert [server.call("GET", "/api/profile", token=token)[0] for server in served] == [401, 401, 401]


def test_what_is_put_in_force_once_is_in_force_in_every_process_and_exported_on_every_node(
        served, instances, tmp_path):
    token = served[0].log_in()
    [before] = versions(served, token)
    trial = shutil.copytree(instances[1].folder / "policies", tmp_path / "trial")
    file = trial / "products.csv"
    file.write_text(file.read_text().replace("# end", f"{OPEN}\n# end"))
    done = instances[1].run("policy", "apply", str(trial), "--yes")
    assert done.returncode == 0, done.stderr
    wait_until(lambda: before not in versions(served, token))
    [after] = versions(served, token, asks=12)
    assert after != before
    for instance in instances:
        wait_until(lambda instance=instance: own_text((instance.folder / "policies" / "products.csv").read_bytes())
                   == own_text(file.read_bytes()))


def test_doctor_names_each_node_with_what_it_runs_on(served, instances):
    wait_until(lambda: instances[0].run("doctor", "--nodes").stdout.count(" node ") == 3, every=1)
    lines = [line for line in instances[0].run("doctor", "--nodes").stdout.splitlines() if " node " in line]
    for line, instance in zip(sorted(lines), sorted(instances, key=lambda one: str(one.folder)), strict=True):
        assert line.strip().startswith("ok") and str(instance.folder) in line and "clock " in line


def test_a_node_with_other_keys_does_not_start(instances, environment, tmp_path):
    without = Instance(tmp_path / "without" / "instance", environment)
    assert without.run("init", "--no-demo").returncode == 1, "it makes no keys for a database that knows some"
    stranger = joined(instances[0], Instance(tmp_path / "instance", environment))
    other = Instance(tmp_path / "other" / "instance").made()
    shutil.copy(other.folder / "secret.key", stranger.folder)
    done = stranger.run("serve", "--port", "0")
    assert (done.returncode, "not those of this database" in done.stderr) == (1, True)


def test_a_node_with_older_code_does_not_start_and_one_that_serves_says_down(served, instances, url):
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    try:
        database.transact(lambda: database.execute_sql(
            "INSERT INTO migrations_gatepost (name, applied) VALUES ('9999_of_later', now())"))
        done = instances[1].run("serve", "--port", "0")
        assert (done.returncode, "newer code, which has gatepost/9999_of_later" in done.stderr) == (1, True)
        status, health = served[1].call("GET", "/api/health")
        assert (status, health["checks"]["migrations"]) == (503, "down")
    finally:
        database.transact(lambda: database.execute_sql("DELETE FROM migrations_gatepost WHERE name = '9999_of_later'"))
        database.close_all()
    assert served[1].call("GET", "/api/health")[0] == 200


def test_a_node_with_policy_files_of_its_own_does_not_start_beside_them(instances, environment):
    done = Instance(instances[1].folder, {**environment, "GATEPOST_POLICY_SOURCE": "files"}).run("serve", "--port", "0")
    assert (done.returncode, "the rules of this instance are in the database" in done.stderr) == (1, True)


def test_over_http_nobody_changes_the_files_of_one_node_of_several(request, environment, tmp_path):
    in_files = {**environment, "GATEPOST_DATABASE_URL": new_database("postgres", request),
                "GATEPOST_POLICY_SOURCE": "files"}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = Instance(tmp_path / "one" / "instance", in_files).made()
    second = joined(first, Instance(tmp_path / "two" / "instance", in_files))
    with first.served() as one, second.served() as two:
        token = one.log_in()
        wait_until(lambda: two.call("GET", "/api/health")[0] == 200)
        wait_until(lambda: first.run("doctor", "--nodes").stdout.count(" node ") >= 2, every=1)
        version = one.call("GET", "/api/admin/policy", token=token)[1]["version"]
        status, answer = one.call("POST", "/api/admin/policy/apply", {
            "files": {"mine.csv": "# end\n"}, "base_version": version}, token)
    assert (status, answer["code"]) == (409, "conflict") and "nodes serve this database" in answer["detail"]
