"""The page on rules: it is short, and old links lead to its subjects."""

from __future__ import annotations

from tests.docs.documents import anchors
from tests.running import ROOT

PAGE = (ROOT / "docs/policy.md").read_text(encoding="utf-8")
MOST_WORDS = 1_500
# Anchors that earlier versions, their guide in an instance or other documents name.
ANCHORS = {
    "a-change-over-http", "facts-by-what-was-decided", "one-line-four-answers", "recipes", "rules-in-code",
    "trying-a-change", "what-cannot-be-said", "what-is-never-used-who-has-what", "what-is-promised",
    "what-may-never-happen", "what-was-in-force-the-ledger", "what-would-have-been-replay", "who-may-do-this",
    "who-may-do-what-on-one-page"}
GUIDE_ANCHORS = {"a-new-condition", "conditions", "doors-that-no-edit-opens", "guarded-fields", "recipes", "roles",
                 "testing-a-policy", "what-the-findings-mean"}


def test_an_administrator_reads_the_page_to_its_end():
    assert len(PAGE.split()) <= MOST_WORDS


def test_old_anchors_lead_to_their_subjects():
    assert anchors(PAGE) >= ANCHORS
    assert anchors((ROOT / "policies/README.md").read_text(encoding="utf-8")) >= GUIDE_ANCHORS


def test_every_page_of_the_reference_is_linked():
    pages = sorted((ROOT / "docs/policy").glob("*.md"))
    assert pages
    assert [page.name for page in pages if f"(policy/{page.name})" not in PAGE] == []
