"""A collection is one short file that no other file needs: the rest works without it, its table and its rules."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.running import ROOT

COLLECTIONS = ("articles", "categories", "comments", "contact", "orders", "pages", "products", "sessions/sessions",
               "sessions/tokens", "users")
PARTS = ("app.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "blueprints",
         "gatepost", "gatepost_start", "models", "policies", "settings", "system")


def test_every_collection_is_a_short_file_of_one_shape():
    """Each file has a docstring, schemas, and last the one class that declares the collection."""
    def is_of_the_shape(source: str) -> bool:
        module = ast.parse(source)
        classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
        bases = [[base.id for base in node.bases] for node in classes]
        return bool(
            len(source.splitlines()) <= 130 and ast.get_docstring(module)
            and bases[-1] == ["Collection"] and ["Collection"] not in bases[:-1]
            and all(ast.get_docstring(node) for node in classes)
            and not any(isinstance(node, ast.FunctionDef) for node in module.body))

    assert [name for name in COLLECTIONS if not is_of_the_shape(
        (ROOT / "blueprints" / f"{name}.py").read_text(encoding="utf-8"))] == []


SMOKE = """
    import json
    from pathlib import Path
    from app import create_app
    from models.base import Rows, later, new_id
    from models.tables.session import Session
    from models.tables.user import User

    app = create_app({"rate_limits": "off"})
    services = app.extensions["gatepost"]
    client = app.test_client()
    assert "comments" not in services.collections
    with services.database.connected():
        users = Rows(User, services.guest_tenant)
        admin = users.select().where(User.role == "admin").get()
        id = new_id()
        services.database.transact(lambda: Rows(Session, services.guest_tenant).insert(Session(
            id=id, owner_id=admin.id, family=id, token_hash=id, expires_at=later(900),
            absolute_expires_at=later(900))))
    with app.app_context():
        token = services.access_tokens.issue(admin, id, [])

    def call(method, path, body=None, status=200):
        answer = client.open(path, method=method, json=body, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == status, (method, path, answer.get_data(as_text=True))
        return answer.json

    assert client.get("/api/health").json["status"] == "ok"
    assert len(client.get("/api/articles").json["items"]) == 20
    call("GET", "/api/comments", status=404)
    article = call("POST", "/api/articles", {"title": "T", "slug": "smoke", "body": "B"}, 201)
    call("POST", f"/api/articles/{article['id']}/publish")
    call("DELETE", f"/api/articles/{article['id']}", status=204)
    for name in ("products", "orders", "categories", "pages", "users", "tokens", "contact"):
        assert call("GET", f"/api/{name}")["items"] is not None
    assert "comments" not in call("GET", "/api/admin/stats")["collections"]
    assert not any("comments" in path for path in call("GET", "/api/openapi.json")["paths"])
    assert call("GET", "/api/profile")["role"] == "admin"
    services.policy.stop()
    services.database.close_all()
    print("the rest goes on")
"""


def copy_project(copy: Path) -> None:
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / part)


@pytest.fixture(scope="module")
def without_comments(tmp_path_factory) -> Path:
    """A copy of the project without comments: no endpoints, table or rules."""
    copy = tmp_path_factory.mktemp("copy")
    copy_project(copy)
    for file in ("blueprints/comments.py", "models/tables/comment.py", "policies/comments.csv"):
        (copy / file).unlink()
    listed = copy / "blueprints" / "__init__.py"
    listed.write_text(listed.read_text("utf-8").replace('"comments", ', ""), encoding="utf-8")
    # A project that drops a table adds a migration to the history. Code that writes to the table is removed first.
    (copy / "models" / "migrations" / "9999_no_comments.py").write_text(textwrap.dedent("""
        def up(migrator, db):
            db.execute_sql("DROP TRIGGER articles_stamp_comments")
            db.execute_sql("DROP TABLE comments")
    """), encoding="utf-8")
    return copy


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    environment |= {"PYTHONPATH": str(folder), "GATEPOST_INSTANCE": str(folder / "instance")}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, text=True, capture_output=True,
                          timeout=120, check=False)


@pytest.mark.slow
def test_without_comments_the_rest_goes_on(without_comments):
    command = ("-c", "from gatepost_start.command import cli; cli()")
    made = run(without_comments, *command, "init")
    assert made.returncode == 0, made.stderr
    checked = run(without_comments, *command, "policy", "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    served = run(without_comments, "-W", "error", "-c", textwrap.dedent(SMOKE))
    assert served.stdout == "the rest goes on\n", served.stderr


@pytest.mark.slow
def test_the_copy_is_the_code_that_ran(without_comments):
    where = run(without_comments, "-c", "import app, blueprints; print(app.__file__, blueprints.__path__[0])")
    assert where.stdout.split() == [str(without_comments / "app.py"), str(without_comments / "blueprints")]


CLOCK = """
    from gatepost import Call, Routes

    routes = Routes("clock", "What time it is.")


    @routes.get("/api/clock", permission="health.view")
    def clock(call: Call) -> dict[str, str]:
        \"\"\"The time.\"\"\"
        return {}
"""
FOUND = """
    from gatepost.collections.plugins.discovery import discover

    found = discover()
    print(type(found.collections["comments"]).__module__, *(one.path for one in found.routes["clock"].endpoints))
"""


@pytest.mark.slow
def test_a_package_with_collections_or_routes_that_is_listed_is_served_like_a_module(tmp_path):
    copy_project(tmp_path)
    blueprints = tmp_path / "blueprints"
    listed = blueprints / "__init__.py"
    listed.write_text(listed.read_text("utf-8").replace('"contact")', '"contact", "clock")'), encoding="utf-8")
    for name, text in (("comments", "from .texts import Comments\n"), ("clock", textwrap.dedent(CLOCK)), ("notes", "")):
        (blueprints / name).mkdir()
        (blueprints / name / "__init__.py").write_text(text, encoding="utf-8")
    (blueprints / "comments.py").rename(blueprints / "comments" / "texts.py")
    done = run(tmp_path, "-W", "error", "-c", textwrap.dedent(FOUND))
    assert done.stdout == "blueprints.comments.texts /api/clock\n", done.stderr


@pytest.mark.slow
def test_discovery_does_not_import_pytest():
    """`gatepost.testing` imports pytest, which a server need not have."""
    script = "from gatepost.collections.plugins.discovery import discover; discover()"
    assert run(ROOT, "-c", f"import sys; {script}; print('pytest' in sys.modules)").stdout == "False\n"
