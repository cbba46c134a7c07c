"""A plugin with every kind of part: a route with rules, jobs by the clock and after a commit, settings, commands and a
condition. It is installed, served by each server on each database, and removed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from importlib import invalidate_caches

import pytest

from gatepost.commands import policy_files
from tests.databases import new_database
from tests.running import PASSWORD, ROOT, Done, Instance, Served, cli, wait_until

pytestmark = pytest.mark.slow

PLUGIN = ROOT / "tests" / "parcels_plugin"
SERVERS = {"waitress": (), "granian": ("--workers", "2")}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder with the plugin installed by pip."""
    source, target = tmp_path_factory.mktemp("source") / "plugin", tmp_path_factory.mktemp("installed")
    shutil.copytree(PLUGIN, source, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target"]
    done = subprocess.run([*command, target, source], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return str(target)


class Seen:
    """Commands on an instance in this process, with or without the plugin."""

    def __init__(self, instance: Instance, target: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        self.instance, self._target, self._monkeypatch = instance, target, monkeypatch

    def run(self, *arguments: str, input: str | None = None) -> Done:
        for name in [name for name in sys.modules if name.partition(".")[0] == "sample_parcels"]:
            del sys.modules[name]
        # The cache of a process.
        vars(cli).pop("_of_plugins", None)
        policy_files.registry.cache_clear()
        with self._monkeypatch.context() as patched:
            if self._target is not None:
                patched.syspath_prepend(self._target)
            invalidate_caches()
            return self.instance.run(*arguments, input=input)

    def printed(self, *arguments: str, input: str | None = None) -> str:
        done = self.run(*arguments, input=input)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def add_user(self, role: str) -> None:
        self.printed("user", "add", f"{role}@example.org", "--role", role, "--password-file", "-", input=PASSWORD)


def ordered(server: Served, admin: str) -> str:
    """The id of a shipped order."""
    status, product = server.call("POST", "/api/products", {
        "name": "Tea", "sku": "TEA-1", "price": 500, "currency": "EUR", "stock": 10}, admin)
    assert status == 201, product
    done, _ = server.call("POST", f"/api/products/{product['id']}/publish", token=admin)
    assert done == 200
    status, order = server.call("POST", "/api/orders", {"items": [{"product_id": product["id"], "quantity": 1}]}, admin)
    assert status == 201, order
    for action in ("approve", "ship"):
        status, answer = server.call("POST", f"/api/orders/{order['id']}/{action}", token=admin)
        assert status == 200, answer
    return order["id"]


@pytest.mark.parametrize(("dialect", "server"), [
    ("sqlite", "waitress"), ("sqlite", "granian"), ("postgres", "waitress"), ("postgres", "granian")])
def test_each_part_works_and_the_instance_goes_on_without_it(target, tmp_path, request, monkeypatch, dialect, server):
    url = new_database(dialect, request, migrated=False)
    folder, environment = tmp_path / "instance", {"GATEPOST_DATABASE_URL": url}
    without = Seen(Instance(folder, environment).made(), None, monkeypatch)
    instance = Instance(folder, {**environment, "PYTHONPATH": f"{target}:{ROOT}",
                                 "GATEPOST_PARCELS_API_KEY": "s3cret-of-the-carrier"})
    plugged = Seen(instance, target, monkeypatch)
    assert "Applied sample_parcels/0001_parcels" in plugged.printed("migrate")
    for role in ("support", "user", "moderator"):
        plugged.add_user(role)
    rules = folder / "policies"
    branch = "    p.when == 'heavy' && heavier(r.sub, r.obj, r.env, 5000) || \\\n"
    always = "    p.when == 'always' || \\\n"
    model = (rules / "model.conf").read_text()
    (rules / "model.conf").write_text(model.replace(always, always + branch))
    more = rules / "heavy.csv"
    more.write_text("# Parcels that need two to carry.\np, moderator, parcel.view, heavy, allow\n# end\n")

    with instance.served(*SERVERS[server]) as service:
        admin, support, user, moderator = (service.log_in(f"{role}@example.org")
                                           for role in ("admin", "support", "user", "moderator"))
        # The route, by its rules.
        assert [service.call("GET", "/api/parcel-load", token=token)[0] for token in (support, user)] == [200, 403]
        # The reaction to a shipped order.
        order = ordered(service, admin)
        wait_until(lambda: service.call("GET", "/api/parcels", token=support)[1]["items"])
        parcel, = service.call("GET", "/api/parcels", token=support)[1]["items"]
        assert (parcel["order_id"], parcel["carrier"], parcel["status"]) == (order, "post", "packed")
        # The condition, in an item and in a list.
        heavy, light = (service.call("POST", "/api/parcels", {"grams": grams}, user)[1]["id"] for grams in (9000, 10))
        seen = [row["id"] for row in service.call("GET", "/api/parcels", token=moderator)[1]["items"]]
        assert seen == [heavy]
        assert [service.call("GET", f"/api/parcels/{id}", token=moderator)[0] for id in (heavy, light)] == [200, 404]
        # The job of the clock: at once for the current minute, and then each minute.
        wait_until(lambda: "hand_over" in plugged.printed("jobs", "list", "--state", "done"))
        assert "sample_parcels" not in plugged.printed("jobs", "list", "--state", "failed")
        # The settings: one is live, in each process.
        shown = plugged.printed("settings")
        assert "parcels.carrier = post\n    who collects the parcels [live]" in shown
        assert "parcels.api_key = ********" in shown and "s3cret" not in shown
        (folder / "settings.toml").write_text('[parcels]\ncarrier = "courier"\n')
        service.process.send_signal(signal.SIGHUP)
        for _ in range(6):
            wait_until(lambda: service.call("GET", "/api/parcel-load", token=support)[1]["carrier"] == "courier")
        # The commands.
        assert plugged.printed("parcels", "waiting") == "3 for courier, with a key\n"
        assert service.call("POST", f"/api/parcels/{light}/collect", token=support)[0] == 200
        assert plugged.printed("parcels", "tidy") == "1 thrown away.\n"
        assert plugged.printed("parcels", "waiting") == "2 for courier, with a key\n"
        trail = service.call("GET", "/api/audit?resource=parcel&action=tidy", token=admin)[1]["items"]
        assert [row["principal"] for row in trail] == ["operator"]

    # The operator removes the plugin's lines and settings by hand: a sentence names each.
    refused = without.run("serve", "--port", "0")
    assert refused.returncode == 1 and "parcels (" in refused.stderr and "there is no such setting" in refused.stderr
    (folder / "settings.toml").unlink()
    checked = without.run("policy", "check")
    assert "heavier" in checked.stdout + checked.stderr
    (rules / "model.conf").write_text(model)
    # A remaining rule gets a warning, also if its condition was removed with the branch.
    checked = without.run("policy", "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert ("heavy.csv:2: warning: `parcel.view`: the plugin that had it, sample_parcels, is not installed; this rule "
            "has no effect") in checked.stdout
    with without.instance.served(*SERVERS[server]) as service:
        moderator = service.log_in("moderator@example.org")
        assert service.call("GET", "/api/parcels", token=moderator)[0] == 404
        assert service.call("GET", "/api/articles", token=moderator)[0] == 200
    # The plugin finds its rows again. The rule needs the branch again.
    (rules / "model.conf").write_text(model.replace(always, always + branch))
    with instance.served(*SERVERS[server]) as service:
        moderator = service.log_in("moderator@example.org")
        assert [row["id"] for row in service.call("GET", "/api/parcels", token=moderator)[1]["items"]] == [heavy]
