"""The keys of two nodes on one Postgres rotate in steps, while each node accepts the signatures of both."""

from __future__ import annotations

import json
import shutil
import urllib.request
from itertools import product

import jwt
import pytest

from gatepost.http.security.keys import Keys
from tests.databases import new_database
from tests.running import PASSWORD, Instance, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("dialect", ["postgres"])]


@pytest.fixture
def nodes(dialect, request, tmp_path):
    """Two instances with the same keys on one database."""
    environment = {"GATEPOST_DATABASE_URL": new_database(dialect, request, migrated=False),
                   "GATEPOST_RATE_LIMITS": "off"}
    one = Instance(tmp_path / "one", environment).made()
    two = Instance(tmp_path / "two", environment)
    two.folder.mkdir(mode=0o700)
    copy_keys(one, two)
    assert two.run("init", "--no-demo").returncode == 0
    return one, two


def copy_keys(here, there):
    shutil.copy(here.folder / "secret.key", there.folder / "secret.key")


class Signed:
    """Values that the nodes have signed so far. Every node accepts all of them at any time."""

    def __init__(self, server):
        self.token = server.log_in()
        self.tokens, self.cursors, self.refresh, self.tags = [self.token], set(), [], set()
        for number in range(4):
            status, made = self._create(server, f"c{number}")
            assert status == 201
        self.category = made["id"]

    def _create(self, server, slug, **headers):
        return server.call("POST", "/api/categories", {"name": slug, "slug": slug}, self.token, headers)

    def sign(self, server):
        """Makes a node sign one more of each."""
        status, pair = server.call("POST", "/api/login", {"email": "admin@example.org", "password": PASSWORD})
        assert status == 200
        self.tokens.append(pair["access_token"])
        self.refresh.append(pair["refresh_token"])
        self.cursors.add(server.call("GET", "/api/categories?limit=1", token=self.token)[1]["next_cursor"])
        request = urllib.request.Request(f"{server.url}/api/categories/{self.category}",
                                         headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert json.loads(answer.read())["id"] == self.category
            self.tags.add(answer.headers["ETag"])
        return jwt.get_unverified_header(pair["access_token"])["kid"]

    def accept(self, server):
        """Checks that a node accepts all of them."""
        path = f"/api/categories/{self.category}"
        said = [server.call("GET", "/api/profile", token=token)[0] for token in self.tokens]
        said += [server.call("GET", f"/api/categories?limit=1&cursor={cursor}", token=self.token)[0]
                 for cursor in self.cursors]
        assert set(said) == {200}
        for tag in self.tags:
            # With one of the keys the tag names this version, so a guarded write succeeds.
            assert server.call("PATCH", path, {}, self.token, {"If-Match": tag})[0] == 200
        for place, token in enumerate(self.refresh):
            status, pair = server.call("POST", "/api/token/refresh", {"refresh_token": token})
            assert status == 200
            self.refresh[place] = pair["refresh_token"]
        status, health = server.call("GET", "/api/health", token=self.token)
        assert (status, health["checks"]["keys"]) == (200, "ok")

    def replayed(self, server):
        return self._create(server, "once", **{"Idempotency-Key": "once-and-for-all"})


def of_nodes(instance):
    """Returns the output of `doctor --nodes` for each node: name of its folder → lines."""
    found, name = {}, ""
    for line in instance.run("doctor", "--nodes").stdout.splitlines():
        mark, check, *words = line.split()
        if mark in ("ok", "FAIL"):
            name = words[0].rstrip(":").rpartition("/")[2] if check == "node" else ""
        if name:
            found[name] = found.get(name, "") + line + "\n"
    return found


def test_no_node_refuses_what_another_signed_while_keys_are_rotated(nodes):
    one, two = nodes
    with one.served() as first:
        with two.served() as second:
            signed = Signed(first)
            once = signed.replayed(first)

            def both():
                kids = [signed.sign(server) for server in (first, second)]
                for server, _ in product((first, second), range(2)):
                    signed.accept(server)
                    assert signed.replayed(server) == once
                return kids

            before = both()
            assert len(set(before)) == 1
            wait_until(lambda: of_nodes(one).keys() == {"one", "two"})
            refused = one.run("keys", "rotate")
            assert refused.returncode == 1 and "keys rotate --prepare" in refused.stderr
            assert f":{two.folder}." in refused.stderr and f":{one.folder}" not in refused.stderr
            assert len(Keys.load(one.folder / "secret.key").masters) == 1

            prepared = one.run("keys", "rotate", "--prepare")
            assert prepared.returncode == 0 and "verifies, signs after gatepost keys rotate" in prepared.stdout
            assert both() == before
            wait_until(lambda: "next" in of_nodes(one)["one"])
            assert "which another node has prepared" in of_nodes(one)["two"]
            refused = one.run("keys", "rotate")
            assert refused.returncode == 1 and "Copy secret.key to each of them" in refused.stderr

            copy_keys(one, two)
            assert both() == before
            wait_until(lambda: "next" in of_nodes(two)["two"])
            assert all(said.startswith("ok") for said in of_nodes(two).values())

            assert one.run("keys", "rotate").returncode == 0
            kids = both()
            assert kids[1] == before[1] != kids[0]
            wait_until(lambda: "next" not in of_nodes(one)["one"])
            assert of_nodes(two)["one"].startswith("ok")
            assert "prepared there: gatepost keys rotate" in of_nodes(two)["two"]
        # It can start unchanged, and does not reset the other nodes.
        with two.served() as second:
            assert both() == kids
            assert "; other nodes sign with the one that is prepared here" in two.run("doctor").stdout
            assert two.run("keys", "rotate").returncode == 0
            assert both() == [kids[0], kids[0]]
            wait_until(lambda: all(said.startswith("ok") for said in of_nodes(two).values()))
            assert both() == [kids[0], kids[0]]
            for node, other in product(nodes, nodes):
                mine, theirs = Keys.load(node.folder / "secret.key"), Keys.load(other.folder / "secret.key")
                assert [each.secret for each in mine.masters] == [each.secret for each in theirs.masters]
            assert [node.run("audit", "verify").returncode for node in nodes] == [0, 0]


def test_after_a_leak_the_other_nodes_are_not_waited_for(nodes):
    one, two = nodes
    with two.served():
        wait_until(lambda: of_nodes(one).keys() == {"two"})
        assert one.run("keys", "rotate", "--prepare").returncode == 0
        leaked = {each.secret for each in Keys.load(one.folder / "secret.key").masters}
        assert one.run("keys", "rotate", "--forget").returncode == 0
        [kept] = Keys.load(one.folder / "secret.key").masters
        assert kept.secret not in leaked
        wait_until(lambda: "copy secret.key from a node that has it" in of_nodes(one)["two"])


def test_a_key_that_leaked_is_not_prepared(nodes):
    done = nodes[0].run("keys", "rotate", "--prepare", "--forget")
    assert done.returncode == 2 and "exclude each other" in done.stderr


def test_a_single_node_needs_no_preparation(nodes):
    one, _ = nodes
    with one.served() as server:
        wait_until(lambda: of_nodes(one).keys() == {"one"})
        token = server.log_in()
        assert one.run("keys", "rotate").returncode == 0
        assert server.call("GET", "/api/profile", token=token)[0] == 200
    listed = one.run("keys", "list").stdout.splitlines()
    assert len(listed) == 2 and listed[0].endswith("signs") and "verifies until" in listed[1]


def test_a_backup_holds_the_prepared_key_and_can_be_restored_after_the_rotation(nodes, tmp_path):
    one, _ = nodes
    assert one.run("keys", "rotate", "--prepare").returncode == 0
    before = Keys.load(one.folder / "secret.key").masters
    file = str(tmp_path / "made.tar.gz")
    assert one.run("backup", file).returncode == 0
    assert one.run("keys", "rotate").returncode == 0
    assert one.run("restore", "--verify", file).returncode == 0
    restored = one.run("restore", "--replace", file, input="y\n")
    assert restored.returncode == 0, restored.stderr
    assert Keys.load(one.folder / "secret.key").masters == before
    with one.served() as server:
        assert server.call("GET", "/api/profile", token=server.log_in())[0] == 200
    assert one.run("keys", "rotate").returncode == 0
    assert Keys.load(one.folder / "secret.key").masters[0].secret == before[1].secret
