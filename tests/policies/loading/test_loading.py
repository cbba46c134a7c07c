"""A folder of policy files: missing and additional files, and columns that fit their conditions."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.policy import files_of
from policies import Column, PolicyError, Resource, Vocabulary
from policies.loading import check
from policies.loading.loader import from_files, load
from tests.policies.generated import FILES, WHO_AND_WHAT, findings_of, model
from tests.policies.shipped_vocabulary import VOCABULARY

ORPHAN = "notes.csv: no installed collection has these rules"


@pytest.mark.parametrize(("name", "lines", "told"), [
    ("notes.csv", "p, user, note.view, own, allow\np, user, note.update, own, allow", True),
    ("notes.csv", "p, user, note.view, own, allow\n" * 9, True),
    ("notes.csv", "p, alice, data1, read\np, bob, data2, write", False),
    ("notes.csv", "p, support, /data1, GET, allow", False),
    ("notes.csv", "p, user, article.veiw, own, allow\np, user, article.view, own, allow", False),
    ("articles.csv", "p, user, article.veiw, own, allow", False),
], ids=["of a plugin that is gone", "of one line many times", "of another model", "with paths",
        "with a slip in one line", "shipped"])
def test_a_file_of_a_plugin_that_is_gone_is_told_from_a_slip(tmp_path, name, lines, told):
    for place, content in (FILES | {name: f"{lines}\n# end\n".encode()}).items():
        (tmp_path / place).write_bytes(content)
    with pytest.raises(PolicyError) as refused:
        load(tmp_path, VOCABULARY, required=FILES)
    assert any(str(finding).startswith(ORPHAN) for finding in refused.value.findings) is told


def test_a_policy_without_rules_is_refused() -> None:
    assert any("the policy has no rules" in finding for finding in findings_of([]))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as refused:
        load(tmp_path, VOCABULARY, required=("articles.csv",))
    text = str(refused.value)
    assert "model.conf: the file is missing" in text
    assert "articles.csv: the file is missing; `gatepost policy adopt articles`" in text
    with pytest.raises(PolicyError, match="cannot be read"):
        load(tmp_path / "nowhere", VOCABULARY)


@pytest.mark.parametrize("name", ["articles copy.csv", "articles.bak.csv", "Articles.csv", "articles-2.csv"])
def test_a_copy_of_a_policy_file_is_refused(tmp_path: Path, name: str) -> None:
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    (tmp_path / ".articles.csv").write_text("an editor's draft")
    load(tmp_path, VOCABULARY)
    (tmp_path / name).write_bytes(FILES["articles.csv"])
    with pytest.raises(PolicyError, match="is this a copy"):
        load(tmp_path, VOCABULARY)


def test_columns_of_a_known_format_are_compared_with_their_like() -> None:
    """Postgres compares a uuid only with a uuid, and a time only with a time."""
    uuid, moment, text = Column(str, True, "uuid"), Column(str, False, "date-time"), Column(str, True)
    columns = {"id": uuid, "owner_id": uuid, "created_at": moment, "note": text}
    vocabulary = Vocabulary({"note": Resource("note", frozenset(("note.view",)), columns)})

    def accepted(condition: str) -> bool:
        files = {
            "model.conf": model(f"{WHO_AND_WHAT} && p.when == 'new' && {condition}").encode(),
            "roles.csv": FILES["roles.csv"],
            "notes.csv": b"p, user, note.view, new, allow\n# end\n",
        }
        try:
            return bool(from_files(files, vocabulary).rules)
        except PolicyError:
            return False

    assert accepted("r.obj.owner_id == r.sub.id")
    assert accepted("r.obj.owner_id == '01920000-0000-7000-8000-000000000001'")
    assert accepted("r.obj.created_at >= '2026-01-01T00:00:00.000000Z'")
    assert accepted("r.obj.note == r.sub.department")
    assert accepted("r.obj.note == r.sub.id")
    assert not accepted("r.obj.owner_id == r.sub.key")
    assert not accepted("r.sub.department == r.obj.owner_id")
    assert not accepted("r.obj.owner_id == '7'")
    assert not accepted("r.obj.owner_id == r.obj.note")
    assert not accepted("r.obj.created_at >= '2026-01-01'")
    assert not accepted("r.obj.created_at >= r.env.date")
    assert not accepted("r.env.date > r.obj.note")


def test_a_plugin_brings_its_rules_unless_the_directory_has_its_own(tmp_path: Path) -> None:
    for name in ("model.conf", "roles.csv", "articles.csv"):
        (tmp_path / name).write_bytes(FILES[name])
    shipped = tmp_path / "plugin"
    shipped.mkdir()
    (shipped / "notes.csv").write_text("p, user, comment.view, always, allow\n# end\n")
    plugins = {"notes.csv": shipped / "notes.csv"}
    assert [r.when for r in load(tmp_path, VOCABULARY, plugins=plugins).rules if r.file == "notes.csv"] == ["always"]
    (tmp_path / "notes.csv").write_text("p, user, comment.view, own, allow\n# end\n")
    assert [r.when for r in load(tmp_path, VOCABULARY, plugins=plugins).rules if r.file == "notes.csv"] == ["own"]


def test_a_condition_is_judged_once_however_many_resources_and_lines_it_reaches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files, vocabulary = files_of(500)
    judged: list[object] = []
    monkeypatch.setattr(check, "_wrong_everywhere", lambda atom, *_: judged.append(atom))
    from_files(files, vocabulary)
    assert len(vocabulary.resources) > 40 and len(judged) == len(set(judged)) > 4
