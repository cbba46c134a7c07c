"""clients/typescript on both servers, also with cut connections: no effect twice, and no row skipped or repeated.

The programs in `typescript/` are type-checked with the built package, and run by the pinned Node.js.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import jwt
import pytest

from gatepost.collections.plugins.discovery import discover
from gatepost.collections.plugins.leaving_out import OPTIONAL
from gatepost.http.openapi.document import document
from gatepost.http.security.keys import Keys
from tests.clients import cutting
from tests.clients.cutting import CuttingProxy, cutting_proxy
from tests.clients.page_origin import one_origin
from tests.clients.tools import NODE_MODULES, missing, node
from tests.console.visits import browser_program
from tests.running import PASSWORD, ROOT, Instance, Served
from tests.test_features_left_out import EVERYTHING

PACKAGE, PROGRAMS = ROOT / "clients" / "typescript", ROOT / "tests" / "clients" / "typescript"
README = (PACKAGE / "README.md").read_text(encoding="utf-8")
SEEDS = (1, 2, 3)
# Constructs that would hide a wrong type; `as const` and `value is` hide nothing.
CAST = re.compile(r"\bas\b(?! const\b|:)|(?<!\.)\bany\b|[\w)\]]!(?!=)|\(<[A-Z]\w+>\w")


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """A folder with the built and installed package, and the programs, which fit its types."""
    folder = tmp_path_factory.mktemp("typescript")
    installed = folder / "node_modules" / "gatepost-client"
    shutil.copytree(PACKAGE, installed)
    (folder / "node_modules" / "@types").symlink_to(NODE_MODULES / "@types")
    (folder / "node_modules" / "undici-types").symlink_to(NODE_MODULES / "undici-types")
    for program in [*PROGRAMS.glob("*.ts"), PROGRAMS / "tsconfig.json"]:
        shutil.copy(program, folder)
    shutil.copy(PROGRAMS / "page.html", installed)
    (folder / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    blocks = re.findall(r"^```ts\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    (folder / "readme.ts").write_text("".join(blocks), encoding="utf-8")
    for project in (installed, folder):
        done = node("tsc", "--project", "tsconfig.json", cwd=project)
        assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory) -> Instance:
    """An instance that refuses no caller for the number of requests."""
    return Instance(tmp_path_factory.mktemp("unlimited") / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()


@pytest.fixture(scope="module", params=["waitress", "granian"])
def busy(unlimited, request) -> Iterator[Served]:
    with unlimited.served(*(("--workers", "2") if request.param == "granian" else ())) as served:
        yield served


@pytest.fixture(params=SEEDS)
def proxy(busy, request) -> Iterator[CuttingProxy]:
    with cutting_proxy(busy.url, request.param) as proxy:
        proxy.cutting = True
        yield proxy


def run(package: Path, program: str, url: str = "", direct: str = "", **told: str) -> subprocess.CompletedProcess[str]:
    return node(package / program, cwd=package, NODE_OPTIONS="--experimental-strip-types --no-warnings", BASE_URL=url,
                DIRECT_URL=direct, EMAIL="admin@example.org", PASSWORD=PASSWORD, NAME=f"ts-{time.monotonic_ns()}",
                **told)


def passed(report: str) -> int:
    found = re.search(r"^# pass (\d+)$", report, re.MULTILINE)
    return int(found[1]) if found else 0


def expired(instance: Instance, service: Served) -> str:
    """An expired access token, signed like those of the service."""
    kid, secret = Keys.load(instance.folder / "secret.key").ring("access token")[0]
    claims = {**jwt.decode(service.log_in(), options={"verify_signature": False}), "exp": int(time.time()) - 60}
    return jwt.encode(claims, secret, "HS256", headers={"typ": "at+jwt", "kid": kid})


def test_the_story_is_told(package, busy):
    done = run(package, "story.ts", busy.url)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


def test_the_story_is_told_below_a_path(package, below):
    done = run(package, "story.ts", below)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr


def test_the_story_is_told_while_connections_are_cut(package, proxy):
    done = run(package, "story.ts", proxy.url)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr
    assert proxy.cut_requests and proxy.cut_answers


def test_no_effect_comes_twice_and_no_row_is_skipped_while_connections_are_cut(package, busy, proxy):
    done = run(package, "cuts.ts", proxy.url, busy.url)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr
    assert proxy.cut_requests and proxy.cut_answers and proxy.cut_requests + proxy.cut_answers > 10


def test_a_long_answer_that_was_lost_is_read_again(package, busy, proxy, monkeypatch):
    monkeypatch.setattr(cutting, "REQUEST_BYTES", 60_000)
    monkeypatch.setattr(cutting, "ANSWER_BYTES", 20_000)
    done = run(package, "long.ts", proxy.url, busy.url)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr
    assert proxy.cut_answers > 5


def test_a_stream_that_is_cut_off_behind_its_head_is_not_an_empty_one(package, busy):
    with cutting_proxy(busy.url, 1, streams=True) as proxy:
        proxy.cutting = True
        done = run(package, "ends.ts", proxy.url)
        assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr
        assert proxy.cut_answers > 1


def test_a_session_outlives_refreshes_whose_answers_are_lost(package, proxy):
    done = run(package, "lost.ts", proxy.url)
    assert (done.returncode, done.stdout) == (0, "told\n"), done.stderr
    assert proxy.cut_requests + proxy.cut_answers > 3


def test_a_login_is_kept_alive_by_one_refresh_for_all_who_need_it(package, unlimited, busy):
    done = run(package, "renewal.ts", busy.url, EXPIRED=expired(unlimited, busy))
    assert (done.returncode, passed(done.stdout)) == (0, 10), done.stdout


def test_a_request_is_sent_again_only_where_that_has_no_second_effect(package):
    done = run(package, "rules.ts")
    assert (done.returncode, passed(done.stdout)) == (0, 19), done.stdout


def test_the_examples_of_its_page_run_one_after_the_other(package, busy):
    program = (package / "readme.ts").read_text(encoding="utf-8")
    for written, told in (("http://127.0.0.1:8000", busy.url), ("the one that was printed", PASSWORD),
                          ("first-light", f"ts-{time.monotonic_ns()}")):
        assert written in program
        program = program.replace(written, told)
    (package / "told-readme.ts").write_text(program, encoding="utf-8")
    done = run(package, "told-readme.ts")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith('admin@example.org\n2 "2"\nsomebody was quicker'), done.stdout


def test_a_page_of_the_services_origin_keeps_its_login_in_a_cookie(package, busy, tmp_path):
    chromium = browser_program()
    if chromium is None:
        missing("no chromium on this machine")
    name = f"page-{time.monotonic_ns()}"
    told = urlencode({"email": "admin@example.org", "password": PASSWORD, "name": name})
    with one_origin(package / "node_modules" / "gatepost-client", busy.url) as origin:
        browser = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}",
             f"{origin.url}/page.html#{told}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
        try:
            found = origin.told.get(timeout=120)
        finally:
            os.killpg(browser.pid, signal.SIGTERM)  # Debian's program is a script that starts the browser
            browser.wait(timeout=60)
    assert found.splitlines() == [
        "before false", 'scripts see "" 0', "loaded true admin@example.org", "refused true", 'listed {"title":"Paged"}',
        "exported Paged", "locks true accounts 1", "after false"]


def test_its_types_are_those_of_the_document(documents, tmp_path):
    made = _generated(documents["openapi.json"], tmp_path).read_text(encoding="utf-8")
    there = (PACKAGE / "src" / "api.ts").read_text(encoding="utf-8")
    assert made == there, "run `gatepost openapi > openapi.json` and `npm run generate` in clients/typescript"


def test_a_plugin_s_document_gives_types_that_know_its_collection(extended, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "package")
    source = _generated(extended, tmp_path / "package").rename(tmp_path / "package" / "src" / "api.ts").parent
    right = ('import { Gatepost, type KindOf } from "./index.ts";\n'
             'const letters = new Gatepost("http://x").collection<KindOf<"letters">>("letters");\n'
             'export const stars: number = (await letters.create({ text: "Hello" })).stars;\n')
    (source / "right.ts").write_text(right, encoding="utf-8")
    (source / "wrong.ts").write_text(right.replace(").stars", ").planets"), encoding="utf-8")
    said = node("tsc", "--project", "tsconfig.json", "--noEmit", cwd=source.parent).stdout
    assert re.findall(r"^(\S+)\(\d+,\d+\): error TS\d+: (.*?) on type", said, re.MULTILINE) == [
        ("src/wrong.ts", "Property 'planets' does not exist")], said


@pytest.mark.parametrize(("without", "call", "sent"), [
    (("articles", "comments"), 'comments.create({ body: "Hello" })', "{ body: string; }"),
    (OPTIONAL, 'comments.create({ body: "Hello" })', "{ body: string; }"),
    (EVERYTHING, 'contact.create({ subject: "Hello" })', "{ subject: string; }"),
], ids=["two", "all collections", "all features"])
def test_the_document_of_an_instance_that_leaves_some_out_gives_types_that_fit(without, call, sent, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "package")
    described = tmp_path / "openapi.json"
    described.write_bytes(document(discover(without=without), "3.1.0"))
    source = _generated(described, tmp_path / "package").rename(tmp_path / "package" / "src" / "api.ts").parent
    told = ('import { Gatepost } from "./index.ts";\nconst client = new Gatepost("http://x");\n'
            'await client.users.create({ name: "Ann", email: "ann@example.org", password: "a long walk" });\n')
    (source / "right.ts").write_text(told, encoding="utf-8")
    (source / "wrong.ts").write_text(f"{told}await client.{call};\n", encoding="utf-8")
    said = node("tsc", "--project", "tsconfig.json", "--noEmit", cwd=source.parent).stdout
    assert re.findall(r"^(\S+)\(\d+,\d+\): error TS\d+: (.*)", said, re.MULTILINE) == [
        ("src/wrong.ts", f"Argument of type '{sent}' is not assignable to parameter of type 'never'.")], said


def _generated(document: Path, folder: Path) -> Path:
    """Returns the types that `npm run generate` writes for a document."""
    shutil.copy(PACKAGE / "generate.mjs", folder)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    done = node(folder / "generate.mjs", document, "api.ts", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "api.ts"


def test_it_needs_nothing_and_says_where_its_parts_are(package):
    said = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & said.keys()
    built = package / "node_modules" / "gatepost-client"
    assert all((built / path).is_file() for path in said["exports"]["."].values())
    imported = {name for file in (PACKAGE / "src").glob("*.ts")
                for name in re.findall(r'from "([^"]+)"', file.read_text(encoding="utf-8"))}
    assert imported and all(name.startswith("./") for name in imported)


def code(file: Path) -> str:
    """Returns a file without its comments and strings."""
    text = re.sub(r"/\*.*?\*/", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"//.*|\"[^\"\n]*\"|`[^`]*`", "", text)


def test_there_is_no_cast():
    files = [*(PACKAGE / "src").glob("*.ts"), *PROGRAMS.glob("*.ts")]
    found = {str(file.relative_to(ROOT)): CAST.findall(code(file)) for file in files if file.name != "api.ts"}
    assert len(found) > 15 and {name: casts for name, casts in found.items() if casts} == {}


@pytest.mark.parametrize("line", ["const id = data as Article;", "data!.id", "const a: any = 1;", "f(<Article>data)"])
def test_a_cast_would_be_found(tmp_path, line):
    (tmp_path / "a.ts").write_text(line, encoding="utf-8")
    assert CAST.search(code(tmp_path / "a.ts"))
