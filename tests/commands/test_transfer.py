"""`gatepost import` and `gatepost export`: the same steps as over HTTP, for files of any size."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from functools import partial

import pytest

from models.engine.errors import Busy, TimedOut, Unavailable
from tests.running import Instance

SLUGS = ("one", "two", "three")


class Transfers:
    """An instance whose commands share one app."""

    def __init__(self, instance: Instance) -> None:
        self.folder, self.environment = instance.folder, instance.environment
        self.run = partial(instance.run, app=instance.app())


@pytest.fixture(scope="module")
def instance(instance: Instance) -> Transfers:
    return Transfers(instance)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Three articles as NDJSON."""
    path = tmp_path_factory.mktemp("files") / "articles.ndjson"
    rows = [{"title": f"={slug}", "slug": slug, "body": "a\nb", "status": "published"} for slug in SLUGS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def imported(instance, file):
    done = instance.run("import", "articles", str(file))
    assert (done.returncode, done.stdout) == (0, "3 imported, 0 updated, 0 failed.\n"), done.stderr


@pytest.fixture
def line():
    """A new article as NDJSON, by its slug."""
    return lambda slug: json.dumps({"title": "t", "slug": slug, "body": "b"}) + "\n"


def lines(instance, *arguments):
    done = instance.run("export", "articles", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.both_databases
def test_rows_are_imported_as_they_are_and_have_no_owner(instance, imported):
    found = {row["slug"]: row for row in lines(instance)}
    assert set(found) == set(SLUGS)
    assert {(row["owner_id"], row["status"], row["version"]) for row in found.values()} == {(None, "published", 1)}


@pytest.mark.both_databases
@pytest.mark.parametrize("name", ["again.csv", "again.ndjson"])
def test_an_exported_file_is_imported_again_without_a_change(instance, imported, tmp_path, name):
    before, path = lines(instance), tmp_path / name
    assert instance.run("export", "articles", str(path)).returncode == 0
    assert path.read_text(encoding="utf-8").startswith("id," if name.endswith(".csv") else '{"id"')
    done = instance.run("import", "articles", str(path))
    assert done.stdout == "0 imported, 3 updated, 0 failed.\n", done.stderr
    assert lines(instance) == before


def test_an_exported_file_is_for_its_operator_alone(instance, imported, tmp_path):
    before = os.umask(0)
    try:
        assert instance.run("export", "articles", str(tmp_path / "a.ndjson")).returncode == 0
    finally:
        os.umask(before)
    assert (tmp_path / "a.ndjson").stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["a.ndjson"]


def test_an_export_replaces_a_file_when_told_to(instance, imported, tmp_path):
    place = tmp_path / "a.ndjson"
    place.write_text("precious")
    place.chmod(0o644)
    refused = instance.run("export", "articles", str(place))
    assert (refused.returncode, place.read_text()) == (1, "precious")
    assert "is there already; --overwrite replaces it." in refused.stderr
    assert instance.run("export", "articles", str(place), "--overwrite").returncode == 0
    assert place.read_text().startswith('{"id"')
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize("there", ["link to a file", "link to nothing", "pipe", "folder"])
def test_an_export_follows_no_link_and_waits_for_no_pipe(instance, imported, tmp_path, there, overwrite):
    place, other = tmp_path / "a.ndjson", tmp_path / "other"
    if there == "pipe":
        os.mkfifo(place)
    elif there == "folder":
        place.mkdir()
    else:
        place.symlink_to(other)
        if there == "link to a file":
            other.write_text("precious")
    mode = place.lstat().st_mode
    refused = instance.run("export", "articles", str(place), *overwrite)
    assert (refused.returncode, place.lstat().st_mode) == (1, mode)
    assert "is a link or no regular file" in refused.stderr
    assert other.read_text() == "precious" if there == "link to a file" else not other.exists()


@pytest.mark.parametrize("kept", [None, "precious"])
def test_an_export_that_fails_leaves_what_was_there(instance, imported, tmp_path, kept, monkeypatch):
    def broken(*_):
        yield b"{"
        raise Unavailable("gone")

    place = tmp_path / "a.ndjson"
    if kept is not None:
        place.write_text(kept)
    monkeypatch.setattr("blueprints.transfer.commands.content", broken)
    assert instance.run("export", "articles", str(place), *(["--overwrite"] if kept else [])).returncode == 1
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == ({"a.ndjson": kept} if kept else {})


def test_rows_keep_the_ids_that_they_are_imported_with_and_may_refer_to_each_other(instance):
    top, below = "01930000-0000-7000-8000-0000000000aa", "01930000-0000-7000-8000-0000000000bb"
    rows = [{"id": top, "name": "Top", "slug": "import-top"},
            {"id": below, "name": "Below", "slug": "import-below", "parent_id": top}]
    file = "".join(json.dumps(row) + "\n" for row in rows)
    done = instance.run("import", "categories", "-", input=file)
    assert done.stdout == "2 imported, 0 updated, 0 failed.\n", done.stderr
    exported = [json.loads(line) for line in instance.run("export", "categories").stdout.splitlines()]
    assert {row["id"]: row["parent_id"] for row in exported} == {top: None, below: top}


def test_standard_input_and_output_say_their_format(instance, imported):
    table = instance.run("export", "articles", "-", "--format", "csv").stdout
    done = instance.run("import", "articles", "-", "--format", "csv", input=table)
    assert done.stdout == "0 imported, 3 updated, 0 failed.\n", done.stderr


def test_bad_lines_are_named_and_nothing_is_imported(instance, imported, tmp_path):
    path = tmp_path / "bad.ndjson"
    path.write_text('{"title": "t", "slug": "four", "body": "b"}\n{\n{"slug": "five"}\n', encoding="utf-8")
    refused = instance.run("import", "articles", str(path))
    assert refused.returncode == 1
    assert "line 2: malformed_json: " in refused.stderr
    assert "line 3: missing_field /title: " in refused.stderr
    assert "2 lines cannot be imported; nothing was." in refused.stderr
    assert len(lines(instance)) == 3


def test_commands_speak_english_whatever_the_service_speaks(instance, imported, tmp_path):
    path = tmp_path / "bad.ndjson"
    path.write_text('{"slug": "five"}\n', encoding="utf-8")
    german = Instance(instance.folder, {**instance.environment, "GATEPOST_LANGUAGE": "de"})
    refused = german.run("import", "articles", str(path))
    assert "Missing data for required field." in refused.stderr
    assert "1 line cannot be imported; nothing was." in refused.stderr


def test_bad_lines_are_left_out_and_a_key_finds_the_others(instance, imported, tmp_path):
    path = tmp_path / "half.ndjson"
    path.write_text('{"slug": "one", "title": "Changed"}\n{\n', encoding="utf-8")
    done = instance.run("import", "articles", str(path), "--key", "slug", "--on-error", "skip")
    assert (done.returncode, done.stdout) == (0, "0 imported, 1 updated, 1 failed.\n")
    assert "line 2: malformed_json" in done.stderr
    assert {row["title"] for row in lines(instance) if row["slug"] == "one"} == {"Changed"}


def test_a_user_imports_what_the_policy_lets_them(instance, file, imported):
    for email, role in (("editor@example.org", "editor"), ("reader@example.org", "user")):
        assert instance.run("user", "add", email, "--role", role).returncode == 0
    refused = instance.run("import", "articles", str(file), "--as", "reader@example.org")
    assert (refused.returncode, "article.import" in refused.stderr) == (1, True)
    assert instance.run("export", "articles", "--as", "reader@example.org").returncode == 1
    done = instance.run("import", "articles", "-", "--as", "editor@example.org",
                        input='{"title": "Mine", "slug": "of-the-editor", "body": "b"}')
    assert done.stdout == "1 imported, 0 updated, 0 failed.\n"
    assert [row["owner_id"] is not None for row in lines(instance) if row["slug"] == "of-the-editor"] == [True]


def test_each_tenant_has_its_own_rows(instance, file, imported):
    assert instance.run("tenant", "add", "acme").returncode == 0
    assert lines(instance, "--tenant", "acme") == []
    assert instance.run("import", "articles", str(file), "--tenant", "acme").returncode == 0
    assert {row["slug"] for row in lines(instance, "--tenant", "acme")} == set(SLUGS)


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("import", "orders", "-"), "There is no import of orders."),
    (("export", "dreams"), "There is no export of dreams."),
    (("import", "articles", "-", "--key", "title"), "articles have no key title. Choose from: slug."),
    (("import", "articles", "-", "--tenant", "nowhere"), "There is no tenant nowhere."),
    (("import", "articles", "-", "--as", "nobody@example.org"), "There is no active user nobody@example.org."),
    (("import", "articles", "-", "--as", "admin@example.org", "--tenant", "another"), "is not in the tenant another."),
    (("import", "articles", "-", "--format", "csv"), "The first line must have the names of the columns."),
])
def test_what_cannot_be_done_is_said_in_a_sentence(instance, arguments, sentence):
    if "another" in arguments:
        instance.run("tenant", "add", "another")
    done = instance.run(*arguments, input="")
    assert done.returncode == 1
    assert sentence in done.stderr


def test_what_was_imported_is_one_piece_of_the_index_of_words(instance, imported, line):
    if "GATEPOST_DATABASE_URL" in instance.environment:
        pytest.skip("an index of SQLite's")
    assert instance.run("import", "articles", "-", input=line("piece")).returncode == 0
    with closing(sqlite3.connect(instance.folder / "gatepost.db")) as database:
        assert database.execute("SELECT count(DISTINCT segid) FROM articles_search_idx").fetchone() == (1,)


@pytest.mark.parametrize("error", [Busy("others write"), TimedOut("a slow disk"), Unavailable("the disk is full")])
def test_what_is_stored_is_imported_whatever_becomes_of_the_index(instance, imported, line, monkeypatch, error):
    def fail(*_index):
        raise error

    monkeypatch.setattr("models.records.search.merge", fail)
    done = instance.run("import", "articles", "-", input=line(type(error).__name__.lower()))
    assert (done.returncode, done.stdout) == (0, "1 imported, 0 updated, 0 failed.\n"), done.stderr


@pytest.mark.both_databases
def test_a_dry_run_shows_each_effect_and_stores_nothing(instance, imported):
    before = lines(instance)
    rows = [{"slug": "one", "title": "Other"}, {"slug": "two", "title": "=two"},
            {"title": "New", "slug": "dry-new", "body": "b"}, {}]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    done = instance.run("import", "articles", "-", "--key", "slug", "--dry-run", input=content)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("line 1: changed: title ") and "→ \"Other\"\n" in done.stdout
    assert 'line 3: created: title "New"' in done.stdout
    assert "line 2" not in done.stdout
    assert "line 4: " in done.stderr
    assert done.stdout.endswith("1 would be imported, 1 changed, 1 left as they are, 1 would fail. "
                                "Nothing was stored.\n")
    assert lines(instance) == before
    many = "".join(json.dumps({"title": "t", "slug": f"dry-{number}", "body": "b"}) + "\n" for number in range(30))
    assert "… and 10 more" in instance.run("import", "articles", "-", "--dry-run", input=many).stdout
    assert lines(instance) == before
