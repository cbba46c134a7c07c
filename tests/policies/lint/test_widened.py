"""A condition that an invariant trusts by name must not give more than the shipped condition of that name."""

from __future__ import annotations

from pathlib import Path

import pytest

from policies.invariants.lines import INVARIANTS_FILE
from policies.lint import widened
from policies.lint.warnings import warnings
from policies.loading.loader import from_files
from tests.policies.generated import FILES, WITH_INVARIANTS
from tests.policies.shipped_vocabulary import VOCABULARY

OWN_DRAFT = "p.when == 'own_draft' && r.obj.owner_id == r.sub.id && r.obj.status == 'draft'"


def told(condition: str, *, invariants: bool = True) -> list[str]:
    """Returns the warnings about a changed shipped condition, for this text of `own_draft`."""
    files = {name: content for name, content in WITH_INVARIANTS.items() if invariants or name != INVARIANTS_FILE}
    model = files["model.conf"].decode()
    assert OWN_DRAFT in model
    files["model.conf"] = model.replace(OWN_DRAFT, condition).encode()
    return [str(one) for one in warnings(from_files(files, VOCABULARY)) if "of that name" in one.message]


@pytest.mark.parametrize(("condition", "example"), [
    ("p.when == 'own_draft' && r.obj.owner_id == r.sub.id", "status is approved, owner_id is the caller's id"),
    ("p.when == 'own_draft' && r.obj.status == 'draft'", "status is draft, owner_id is another id"),
    ("p.when == 'own_draft' && r.obj.owner_id == r.sub.id && r.obj.status != 'published'", "status is approved"),
])
def test_a_condition_that_gives_more_is_told_at_its_line_with_an_example(condition: str, example: str) -> None:
    [found] = told(condition)
    assert found.startswith("model.conf:24: warning: `own_draft` gives more than the shipped condition of that name")
    assert "invariants.csv:30 (`atmost, user, article.update, own_draft`)" in found
    assert example in found


@pytest.mark.parametrize("condition", [
    OWN_DRAFT,
    "p.when == 'own_draft' && r.obj.status == 'draft' && r.sub.id == r.obj.owner_id",
    "p.when == 'own_draft' && r.obj.owner_id == r.sub.id && r.obj.status == 'draft' && r.env.hour < 18",
], ids=["as shipped", "in other words", "narrower"])
def test_a_condition_that_gives_no_more_is_not_told(condition: str) -> None:
    assert told(condition) == []


def test_without_an_invariant_that_names_it_a_condition_is_the_administrators_own() -> None:
    assert told("p.when == 'own_draft' && r.obj.owner_id == r.sub.id", invariants=False) == []


def test_a_condition_with_a_parameter_is_compared_for_the_one_that_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uses a shipped model.conf with such a condition."""
    shipped = tmp_path / "model.conf"
    language = "p.when == 'language:' + r.obj.language && r.obj.status == 'draft'"
    shipped.write_bytes(WITH_INVARIANTS["model.conf"].replace(OWN_DRAFT.encode(), language.encode()))
    monkeypatch.setattr(widened, "_SHIPPED", shipped)
    monkeypatch.setattr(widened, "_shipped", widened._shipped.__wrapped__)
    files = {**FILES, INVARIANTS_FILE: b"atmost, user, article.export, language:de\n# end\n"}
    for condition, example in ((language, None), (language.partition(" &&")[0], "language is de, status is approved")):
        branches = f"    {condition} || \\\n    p.when == 'always' ||".encode()
        files["model.conf"] = FILES["model.conf"].replace(b"    p.when == 'always' ||", branches)
        found = [one.message for one in warnings(from_files(files, VOCABULARY)) if "of that name" in one.message]
        assert len(found) == (example is not None)
        assert all(one.startswith("`language:de` gives more") and one.endswith(f"for example: {example}")
                   for one in found)
