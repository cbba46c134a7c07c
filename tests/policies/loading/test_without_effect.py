"""Lines about what nothing asks for any more: warned of, never an error, and never without a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from policies import PolicyError
from policies.cases.case_file import read_suite
from policies.lint.warnings import warnings
from policies.loading.loader import from_files
from tests.policies.generated import FILES
from tests.policies.shipped_vocabulary import VOCABULARY

WHY = "the plugin that had it, sample_notes, is not installed"
GONE = replace(VOCABULARY, gone={"note.view": WHY, "note.finish": WHY})
IDLE = replace(VOCABULARY, idle={"comment": "the collection comments is left out (setting without)"})


def lines(*added: str, name: str = "notes.csv") -> dict[str, bytes]:
    return {**FILES, name: "".join(f"{line}\n" for line in (*added, "# end")).encode()}


def told(policy) -> list[str]:
    return [str(one) for one in policy.remarks]


@pytest.mark.parametrize("act", ["note.view", "note.delete", "note.*", "note", "*.finish", "n*.view"])
@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_a_line_about_what_was_taken_out_is_a_warning(act, effect):
    policy = from_files(lines(f"p, user, {act}, own, {effect}"), GONE)
    assert told(policy) == [f"notes.csv:1: warning: `{act}`: {WHY}; this line has no effect"]
    assert [rule for rule in policy.rules if rule.file == "notes.csv"] == []
    assert set(policy.remarks) <= set(warnings(policy))


def test_so_is_one_of_a_scope_and_many_are_told_once():
    policy = from_files(lines("p, user, note.view, own, allow", "p2, read:notes, note.view",
                              "p, user, note.finish, made_up_word, allow"), GONE)
    assert told(policy) == [f"notes.csv:1: warning: `note.view`: {WHY}; this line has no effect, and neither have 2 "
                            "more of this file"]


@pytest.mark.parametrize("act", ["nate.view", "article.finish", "nate", "*.vjew", "m*.view*r"])
def test_what_never_was_a_permission_stays_an_error(act):
    with pytest.raises(PolicyError, match="is no permission"):
        from_files(lines(f"p, user, {act}, own, allow"), GONE)


def test_without_the_ledger_s_word_it_is_an_error_as_before():
    with pytest.raises(PolicyError, match="`note.view` is no permission"):
        from_files(lines("p, user, note.view, own, allow"), VOCABULARY)


def test_an_invariant_about_it_is_read_over():
    content = lines("never, guest, note.finish", name="invariants.csv")
    from_files(content, GONE)
    with pytest.raises(PolicyError, match="`note.finish` is no permission"):
        from_files(content, VOCABULARY)


CASES = """
principals:
  ann: {role: user}
objects:
  note:
    a note: {owner_id: ann}
cases:
  - name: a note is its owner's
    who: ann
    what: a note
    may: [note.view]
  - name: notes are made by users
    who: ann
    what: note
    may: [note.view]
"""


def test_cases_about_it_are_left_out_with_a_warning():
    suite = read_suite(CASES, "tests.yaml", GONE)
    assert list(suite.questions(GONE)) == []
    assert [str(one) for one in suite.warnings if WHY in one.message] == [
        f"tests.yaml:5: warning: note: {WHY}; cases about it are left out"]
    with pytest.raises(PolicyError, match="there is no resource 'note'"):
        read_suite(CASES, "tests.yaml", VOCABULARY)


def test_a_line_about_a_collection_that_is_left_out_is_a_warning_and_stays():
    before, after = from_files(FILES, VOCABULARY), from_files(FILES, IDLE)
    about = [rule for rule in after.rules if rule.act.startswith("comment.")]
    assert [str(rule.place) for rule in before.rules] == [str(rule.place) for rule in after.rules] and about
    assert all("comment" in one and "left out" in one for one in told(after)) and told(after)
    assert told(before) == []
