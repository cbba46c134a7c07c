"""The page for operators: it is short, and old links lead to its subjects."""

from __future__ import annotations

from tests.docs.documents import anchors
from tests.running import ROOT

PAGE = (ROOT / "docs/running.md").read_text(encoding="utf-8")
MOST_WORDS = 1_500
# Anchors that earlier versions, their alert rules or other documents name.
ANCHORS = {
    "a-broken-request", "a-proxy-and-tls", "at-three-in-the-morning", "backups", "below-a-path",
    "from-sqlite-to-postgres", "health-and-metrics", "install", "keys", "limits", "logs", "one-persons-data", "restore",
    "several-nodes", "several-nodes-one-after-the-other", "several-processes-several-machines", "settings",
    "the-audit-trail", "the-instance", "the-log-was-deleted", "the-way-back", "too-much-at-a-time", "upgrades",
    "what-a-fault-looks-like", "what-grows-has-an-end", "what-nobody-uses"}


def test_an_operator_reads_the_page_to_its_end():
    assert len(PAGE.split()) <= MOST_WORDS


def test_old_anchors_lead_to_their_subjects():
    assert anchors(PAGE) >= ANCHORS


def test_every_page_of_the_reference_is_linked():
    pages = sorted((ROOT / "docs/running").glob("*.md"))
    assert pages
    assert [page.name for page in pages if f"(running/{page.name})" not in PAGE] == []
