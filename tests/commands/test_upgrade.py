"""An instance of 0.1, with rows, rules edited by hand and a sealed audit log, works with this code.

`instance_of_0_1/README.md` says how the instance was made, and what is in it.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from gatepost.commands import policy_files
from models.base import new_id
from models.engine.connect import open_database
from models.engine.database import Database
from models.tables import sealed_rows
from models.tables.article import Article
from models.tables.comment import Comment
from policies import SHIPPED, load
from policies.loading import first_release
from policies.questions.diff import diff
from tests.databases import new_database
from tests.running import Instance
from tests.tampering import disarmed
from tests.version_0_1 import MADE, files_of_0_1, sqlite_of_0_1

SEALED = 8  # audit events that 0.1 sealed
ID = "01930000-0000-7000-8000-0000000000{}"
NARROWED = ("The shipped rules now say `p, guest, comment.view, approved_public, allow`, which gives less; yours stay: "
            "`p, guest, comment.view, approved, allow` (comments.csv:5).")


def new_permissions() -> list[str]:
    """Returns the permissions that 0.1 did not have and that a shipped rule names."""
    shipped = policy_files.shipped_policy()
    written = {line.act for line in (*shipped.rules, *shipped.scopes)}
    return sorted(written & set(shipped.vocabulary.by_permission) - first_release.PERMISSIONS)


@pytest.fixture(scope="module")
def made(dialect, request, tmp_path_factory) -> Callable[[], Instance]:
    """Creates an instance like 0.1."""
    return lambda: as_0_1_left_it(dialect, request, tmp_path_factory.mktemp("old") / "instance")


@pytest.fixture(scope="module")
def old(made) -> Instance:
    return made()


@pytest.fixture(scope="module")
def database_of():
    """Opens the database of an instance."""
    @contextmanager
    def opened(instance: Instance) -> Iterator[Database]:
        url = instance.environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{instance.folder / 'gatepost.db'}")
        database = open_database(url, pool_size=2, synchronous="normal", statement_timeout=10)
        with database.connected():
            yield database
        database.close_all()
    return opened


@pytest.fixture(scope="module")
def heads_of_0_1(old, database_of) -> str:
    """Returns the output of `gatepost audit export --heads` of 0.1."""
    with database_of(old) as database:
        return "".join(f"{seq} {head}\n" for seq, head in
                       database.query(f"SELECT seq, head FROM audit_seals WHERE last_seq <= {SEALED}"))


def as_0_1_left_it(dialect, request, folder: Path) -> Instance:
    if dialect == "sqlite":
        return sqlite_of_0_1(folder)
    files_of_0_1(folder)
    url = new_database(dialect, request, migrated=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(gzip.decompress((MADE / "postgres.sql.gz").read_bytes()))
    return Instance(folder, {"GATEPOST_DATABASE_URL": url})


def policies(instance: Instance) -> dict[str, str]:
    return {file.name: file.read_text() for file in sorted((instance.folder / "policies").iterdir())}


@pytest.fixture(scope="module")
def migrated(old):
    """The instance after `gatepost migrate`, and the output of the command."""
    before, waiting = policies(old), old.run("migrate", "--check")
    assert waiting.returncode == 1
    assert "gatepost/0012_comments_of_hidden_articles" in waiting.stdout
    assert "product.set_price (by product.update)" in waiting.stdout
    assert "Run: gatepost migrate" in old.run("audit", "verify").stderr
    doctor = old.run("doctor")
    assert doctor.returncode == 1
    assert [line.split()[1] for line in doctor.stdout.splitlines() if not line.startswith("ok ")] == ["migrations"]
    done = old.run("migrate")
    assert done.returncode == 0, done.stderr
    assert policies(old) == before, "an upgrade changes no rule"
    return old, done.stdout


def test_the_migration_names_new_permissions_and_rules_that_give_less_now(migrated):
    _, said = migrated
    assert NARROWED in said.splitlines()
    assert "user.view_private" in new_permissions()
    named = [line for line in said.splitlines() if line.startswith("New permissions")]
    assert named == [
        f"New permissions that your policy files do not mention: {', '.join(new_permissions())}",
        "New permissions that another one decides until a rule names them: comment.view_owner (by comment.view), "
        "order.view_total (by order.view), product.set_price (by product.update), product.view_stock (by product.view)"]
    assert "gatepost policy adopt --new" in said


def test_the_files_of_0_1_are_all_that_is_required(migrated):
    instance, _ = migrated
    assert {file.name for file in (MADE / "policies").iterdir()} == first_release.FILES
    assert set(policy_files.registry().required_policies) == first_release.FILES
    assert instance.run("policy", "check").returncode == 0


def test_the_trail_is_proved_as_it_was_sealed(heads_of_0_1, migrated, tmp_path):
    instance, _ = migrated
    (tmp_path / "heads.txt").write_text(heads_of_0_1)
    verified = instance.run("audit", "verify", "--heads", str(tmp_path / "heads.txt"))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert int(verified.stdout.split()[0]) >= SEALED


def test_an_erased_row_that_0_1_sealed_is_proved_by_its_commitment(migrated, database_of):
    instance, _ = migrated
    with database_of(instance) as database:
        database.transact(lambda: sealed_rows.erase([2, 3]))
    verified = instance.run("audit", "verify")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "The personal values of 2 proved events were erased." in verified.stdout


@pytest.mark.parametrize(("damage", "said"), [
    ("UPDATE audit SET role = 'admin' WHERE seq = 2", "rows 1 to"),
    ("DELETE FROM audit WHERE seq = 2", "rows 1 to")])
def test_a_broken_chain_stops_the_migration_and_names_the_batch(made, database_of, damage, said):
    instance = made()
    with database_of(instance) as database:
        disarmed(database, damage)
    stopped = instance.run("migrate")
    assert stopped.returncode == 1
    assert "The audit trail is not what was sealed" in stopped.stderr and said in stopped.stderr
    assert "gatepost/0020_audit_commitments" in instance.run("migrate", "--check").stdout, "nothing was changed"
    assert instance.run("migrate", "--leave-unproved").returncode == 0
    verified = instance.run("audit", "verify")
    assert verified.returncode == 1 and said in verified.stdout, "it is still told"


@pytest.fixture(scope="module", params=["own rules", "adopted"])
def served(migrated, request):
    """Serves the instance, with its old rules and with the adopted new rules."""
    instance, _ = migrated
    if request.param == "adopted":
        done = instance.run("policy", "adopt", "--new", "--yes")
        assert done.returncode == 0, done.stdout + done.stderr
    with instance.answering() as server:
        yield server


def test_it_serves_what_was_there(served):
    editor, user = served.log_in("old.editor@example.org"), served.log_in("old.user@example.org")
    assert served.call("GET", f"/api/articles/{ID.format(12)}")[1]["slug"] == "old-published"
    assert served.call("GET", f"/api/articles/{ID.format(11)}")[0] == 404
    assert served.call("GET", f"/api/articles/{ID.format(11)}", token=user)[0] == 200, "it is shared with them"
    found = served.call("GET", "/api/articles?q=walk&limit=100", token=editor)[1]["items"]
    assert {item["id"] for item in found} >= {ID.format(number) for number in (11, 12, 13)}
    assert [item["name"] for item in served.call("GET", "/api/tokens", token=user)[1]["items"]] == ["A program"]
    assert served.call("GET", "/api/orders", token=served.log_in())[1]["items"]


def test_what_the_administrator_had_edited_stays_in_force(served):
    assert served.call("GET", "/api/admin/stats", token=served.log_in("old.user@example.org"))[0] == 200
    assert served.call("GET", "/api/admin/stats", token=served.log_in("old.editor@example.org"))[0] == 403
    # Narrower in the shipped rules. The instance's own rule is unchanged.
    for number in (21, 22, 23):
        assert served.call("GET", f"/api/comments/{ID.format(number)}")[0] == 200


def test_it_takes_new_rows(served):
    editor = served.log_in("old.editor@example.org")
    status, made = served.call("POST", "/api/articles", {"title": "New", "slug": new_id(), "body": "B"}, editor)
    assert status == 201
    assert served.call("POST", f"/api/articles/{made['id']}/publish", {}, editor)[0] == 200
    assert served.call("POST", "/api/comments", {"article_id": made["id"], "body": "B"}, editor)[0] == 201


def test_comments_that_were_there_know_the_state_of_their_article(migrated, dialect):
    instance, _ = migrated
    url = instance.environment.get("GATEPOST_DATABASE_URL", f"sqlite:///{instance.folder / 'gatepost.db'}")
    database = open_database(url, pool_size=1, synchronous="normal")
    try:
        with database.connected():
            found = {comment.id: comment.article_status for comment in Comment.select()}
            states = {article.id: article.status for article in Article.select()}
            assert found == {comment.id: states[comment.article_id] for comment in Comment.select()}
    finally:
        database.close_all()
    assert [found[ID.format(number)] for number in (21, 22, 23)] == ["draft", "published", "archived"]


def test_adopting_gives_what_is_shipped_about_new_permissions_and_nothing_else(migrated):
    instance, _ = migrated
    folder, before = instance.folder / "policies", MADE / "policies"
    done = instance.run("policy", "adopt", "--new", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert NARROWED in done.stdout.splitlines()
    assert instance.run("policy", "check").returncode == 0
    vocabulary, new = policy_files.registry().vocabulary, set(new_permissions())
    old, after, shipped = (load(place, vocabulary) for place in (before, folder, SHIPPED))
    assert {change.permission for change in diff(old, after)} <= new
    assert [str(change) for change in diff(after, shipped) if change.permission in new] == []
    for file in before.iterdir():
        found = iter(policies(instance)[file.name].splitlines())
        assert all(line in found for line in file.read_text().splitlines()), "lines are added, and none is changed"
    again = instance.run("policy", "adopt", "--new")
    assert again.returncode == 0 and "Nothing is new" in again.stdout
    assert "New permissions" not in instance.run("migrate").stdout


def test_a_role_that_0_1_knew_without_a_line_of_its_own_is_an_error_with_the_line_to_write(old, tmp_path):
    rules = tmp_path / "policies"
    shutil.copytree(MADE / "policies", rules)
    roles = rules / "roles.csv"
    kept = roles.read_text()
    roles.write_text("".join(line for line in kept.splitlines(keepends=True) if not line.startswith("g, developer,")))
    done = old.run("policy", "check", str(rules))
    assert done.returncode == 1
    assert "`developer` is no role; declare it in roles.csv: g, developer, guest" in done.stdout + done.stderr
    roles.write_text(roles.read_text().replace("# end", "g, developer, guest\n# end"))
    assert old.run("policy", "check", str(rules)).returncode == 0


LIMIT = "p.when == 'on_duty' && inGroup(r.sub, r.sub.department) || \\"


def test_lines_that_0_1_accepted_are_listed_before_the_upgrade_and_closed_after_it(made):
    instance = made()
    model, articles = (instance.folder / "policies" / name for name in ("model.conf", "articles.csv"))
    always = "p.when == 'always' || \\\n"
    model.write_text(model.read_text().replace(always, f"{always}    {LIMIT}\n"))
    kept = articles.read_text()
    articles.write_text(kept.replace("# end", "p, guest, article.view, on_duty, deny\n"
                                              "p, user, article.delete, on_duty, allow\n# end"))
    line = model.read_text().splitlines().index(f"    {LIMIT}") + 1
    listed = instance.run("migrate", "--check")
    assert listed.returncode == 1
    assert f"model.conf:{line}: inGroup takes" in listed.stdout and "used by articles.csv:" in listed.stdout
    migrated = instance.run("migrate")
    assert migrated.returncode == 0 and f"model.conf:{line}: inGroup takes" in migrated.stdout
    assert instance.run("migrate", "--check").returncode == 1, "until the line is changed"
    assert f"model.conf:{line}" in instance.run("doctor").stdout
    with instance.answering() as server:
        assert server.call("GET", "/api/health")[1]["checks"]["policy"] == "degraded"
        user = server.log_in("old.user@example.org")
        assert server.call("GET", f"/api/articles/{ID.format(12)}")[0] == 401, "the deny always matches"
        assert server.call("GET", f"/api/articles/{ID.format(12)}", token=user)[0] == 403
        admin = server.log_in()
        assert f"model.conf:{line}" in server.call("GET", "/api/health", token=admin)[1]["policy_error"]
    articles.write_text(kept)
    model.write_text(model.read_text().replace(f"    {LIMIT}\n", ""))
    assert instance.run("migrate", "--check").returncode == 0
