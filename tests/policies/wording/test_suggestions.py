"""Did you mean: the known word for a misspelt one. No distant word is suggested."""

from __future__ import annotations

import pytest

from policies.wording import suggestions
from policies.wording.suggestions import did_you_mean, hint, nearest
from tests.policies.shipped_vocabulary import PERMISSIONS, ROLES

MEANT = {
    "article.veiw": "article.view", "artcle.view": "article.view", "orders.view": "order.view",
    "order.views": "order.view", "order:view": "order.view", "Order.View": "order.view", "ORDER_VIEW": "order.view",
    "view.order": "order.view", "order.viewprivate": "order.view_private", "categories.view": "category.view",
    "оrder.view": "order.view", "order.\u200bview": "order.view", "order/view": "order.view", "orderview": "order.view",
    "order.dlete": "order.delete", "audit.viewfacts": "audit.view_facts", "order.complet": "order.complete",
}
FAR = ("", "x", "*", "…", "shard.rebalance", "read:everything", "a" * 10_000, "....", "\0")
ORDER_SCOPES = ("read:orders", "write:orders")
OTHERS = (
    ("owner", ("owner_id", "status", "id"), "owner_id"), ("department_id", ("department", "id"), "department"),
    ("manger", ROLES, "manager"), ("Editor", ROLES, "editor"), ("users", ROLES, "user"),
    ("own-draft", ("own", "own_draft", "always"), "own_draft"), ("read:order", ORDER_SCOPES, "read:orders"),
    ("orders:read", ORDER_SCOPES, "read:orders"), ("aricles.csv", ("articles.csv",), "articles.csv"),
)


def test_a_misspelt_permission_has_the_one_that_was_meant():
    assert {word: did_you_mean(word, PERMISSIONS) for word in MEANT} == {
        word: f"; did you mean {meant}?" for word, meant in MEANT.items()}


def test_what_is_near_to_no_known_word_has_no_suggestion():
    assert {word: did_you_mean(word, PERMISSIONS) for word in FAR} == dict.fromkeys(FAR, "")


def test_any_known_words_can_be_suggested():
    assert [nearest(word, known) for word, known, _ in OTHERS] == [meant for *_, meant in OTHERS]


def test_what_negates_a_word_is_no_misspelt_one():
    negated = ("!guest", "! guest", "not guest", "NOT guest", "~guest")
    assert {word: nearest(word, ROLES) for word in negated} == dict.fromkeys(negated, "")
    assert nearest("noted", ("note",)) == "note"


def test_without_a_near_word_a_message_lists_a_few_known_ones():
    assert hint("nonsense", ["own", "always"]) == "; known are always, own"
    assert hint("nonsense", PERMISSIONS).endswith(", …")
    assert hint("nonsense", PERMISSIONS).count(",") == 20


@pytest.fixture
def compared(monkeypatch):
    """Records every word that is compared with the known ones, which is the slowest step."""
    words: list[str] = []

    def compare(word, *others):
        words.append(word)
        return []

    monkeypatch.setattr(suggestions, "get_close_matches", compare)
    suggestions._nearest.cache_clear()
    yield words
    suggestions._nearest.cache_clear()


def test_a_word_that_comes_again_is_compared_once_with_the_same_known_words(compared):
    for known in (("alpha", "beta"), ["beta", "alpha", "beta"], ("alpha",)):
        for _ in range(3):
            assert nearest("gamma", known) == ""
    assert compared == ["gamma", "gamma"]


def test_words_without_end_are_not_kept_without_end(compared):
    for number in range(3000):
        nearest(f"gamma{number}", ("alpha", f"beta{number % 100}"))
    for cache in (suggestions._nearest, suggestions._known):
        assert cache.cache_info().currsize == cache.cache_info().maxsize
    kept = suggestions._nearest.cache_info().currsize
    assert nearest("x" * (suggestions.LONGEST + 1), ROLES) == ""
    assert len(compared) == 3000 and suggestions._nearest.cache_info().currsize == kept


def test_of_known_words_that_are_alike_the_first_counts():
    assert nearest("item", ("Items", "items", "ITEM")) == "ITEM"
    assert nearest("b:a", ("b_a", "a_b", "b.a")) == "b.a"
    assert nearest("note", ("note_from_somebody_else", "note_to_nobody_at_all")) == "", "two are as near"
