"""Rules for permissions that nothing uses any more: never an error, and a warning unless a setting removed them."""

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
COMMENT = VOCABULARY.resources["comment"]
LEFT_OUT = replace(
    VOCABULARY, resources={name: one for name, one in VOCABULARY.resources.items() if one is not COMMENT},
    gone=dict.fromkeys(COMMENT.permissions, "the collection comments is left out (setting without)"),
    left_out={"comment": COMMENT})


def lines(*added: str, name: str = "notes.csv") -> dict[str, bytes]:
    return {**FILES, name: "".join(f"{line}\n" for line in (*added, "# end")).encode()}


def told(policy) -> list[str]:
    return [str(one) for one in policy.remarks]


@pytest.mark.parametrize("act", ["note.view", "note.delete", "note.*", "note", "*.finish", "n*.view"])
@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_a_line_about_what_was_taken_out_is_a_warning(act, effect):
    policy = from_files(lines(f"p, user, {act}, own, {effect}"), GONE)
    assert told(policy) == [f"notes.csv:1: warning: `{act}`: {WHY}; this rule has no effect"]
    assert [rule for rule in policy.rules if rule.file == "notes.csv"] == []
    assert set(policy.remarks) <= set(warnings(policy))


def test_so_is_one_of_a_scope_and_many_are_told_once():
    policy = from_files(lines("p, user, note.view, own, allow", "p2, read:notes, note.view",
                              "p, user, note.finish, made_up_word, allow"), GONE)
    assert told(policy) == [f"notes.csv:1: warning: `note.view`: {WHY}; this rule has no effect, and neither have 2 "
                            "more of this file"]


@pytest.mark.parametrize("act", ["nate.view", "article.finish", "nate", "*.vjew", "m*.view*r"])
def test_what_never_was_a_permission_stays_an_error(act):
    with pytest.raises(PolicyError, match="is no permission"):
        from_files(lines(f"p, user, {act}, own, allow"), GONE)


def test_without_the_history_s_word_it_is_an_error_as_before():
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


LINES_LEFT_OUT = [line for line in FILES["comments.csv"].decode().splitlines() if line.startswith("p")]


def test_lines_about_a_collection_that_is_left_out_count_for_nothing_and_are_no_findings():
    before, after = from_files(FILES, VOCABULARY), from_files(FILES, LEFT_OUT)
    assert [rule for rule in before.rules if not rule.act.startswith("comment.")] == list(after.rules)
    assert [rule for rule in before.scopes if not rule.act.startswith("comment.")] == list(after.scopes)
    assert len(after.left_out) == len(LINES_LEFT_OUT) > 0
    assert (told(after), warnings(after)) == ([], ())
    assert before.left_out == ()


@pytest.mark.parametrize("added", [
    "p, user, comment.no_such_verb, always, allow", "p, no_such_role, comment.view, no_such_word, allow",
    "p, user, comment.*, always, allow", "p2, read:comments, comment.*"])
def test_they_are_read_no_further(added):
    assert told(policy := from_files(lines(added), LEFT_OUT)) == []
    assert len(policy.left_out) == len(LINES_LEFT_OUT) + 1


def test_a_pattern_of_what_is_left_out_and_of_what_was_taken_out_is_still_a_warning():
    both = replace(LEFT_OUT, gone={**LEFT_OUT.gone, "commission.view": WHY})
    policy = from_files(lines("p, user, comm*.view, own, allow"), both)
    assert len(told(policy)) == 1 and "has no effect" in told(policy)[0]


def test_a_role_that_only_such_lines_name_is_not_useless():
    files = lines("p, commentator, comment.view, always, allow")
    files["roles.csv"] = files["roles.csv"].replace(b"# end", b"g, commentator, user\ng, owner, commentator\n# end")
    assert warnings(from_files(files, LEFT_OUT), held=frozenset()) == ()


@pytest.mark.parametrize("used", [True, False])
def test_conditions_may_be_written_for_its_columns_and_states(used):
    branches = (b"    p.when == 'waiting' && r.obj.status == 'pending' || \\\n"
                b"    p.when == 'of_public' && r.obj.article_status == 'published' || \\\n")
    files = lines(*(f"p, user, comment.view, {word}, allow" for word in ("waiting", "of_public") if used))
    anchor = b"    p.when == 'published'"
    assert anchor in files["model.conf"]
    files["model.conf"] = files["model.conf"].replace(anchor, branches + anchor, 1)
    assert warnings(from_files(files, LEFT_OUT)) == ()


@pytest.mark.parametrize("line", [
    "never, guest, comment.delete", "never, guest, comment.*", "atmost, user, comment.update, own",
    "only, moderator, comment.approve", "never, guest, *.delete, except comment.delete"])
def test_invariants_about_it_promise_nothing_and_are_no_findings(line):
    policy = from_files(lines(line, "always, admin, *, always", name="invariants.csv"), LEFT_OUT)
    assert warnings(policy) == ()


def test_cases_about_it_are_left_out_without_a_word():
    suite = read_suite(CASES.replace("note", "comment").replace("ann: {role: user}", "ann: {role: user, kind: service, "
                       "scopes: ['read:comments']}"), "tests.yaml", LEFT_OUT,
                       from_files(FILES, LEFT_OUT).written_scopes)
    assert (list(suite.questions(LEFT_OUT)), suite.warnings) == ([], ())
