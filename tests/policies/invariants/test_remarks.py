"""A line of invariants.csv that promises less than it appears to gets one warning, at its own line."""

from __future__ import annotations

from collections.abc import Iterable

from policies.invariants.lines import INVARIANTS_FILE
from policies.invariants.remarks import remarks
from policies.loading.loader import from_files
from tests.policies.generated import BRANCHES, FILES, MODEL, WITH_INVARIANTS
from tests.policies.lint.test_warnings import ALL, ANN
from tests.policies.shipped_vocabulary import VOCABULARY

PROMISE = "always, admin, *, always"
# Two conditions, one of which implies the other, and one that is always true.
WORDS = ("'own_small' && r.obj.owner_id == r.sub.id && r.obj.total < 100",
         "'own_or_open' && (r.obj.owner_id == r.sub.id || r.obj.status == 'pending')",
         "'open' && r.obj.status == 'pending'", "'any_hour' && (r.env.hour < 12 || r.env.hour >= 12)")
MODEL_WITH_WORDS = MODEL.replace(BRANCHES, " || \\\n    ".join([BRANCHES, *(f"p.when == {word}" for word in WORDS)]))


def said(*lines: str, before: str = PROMISE, extra: str = "") -> list[str]:
    """Returns the remarks on these lines, which follow an invariant for administrators."""
    files = {**FILES, "model.conf": MODEL_WITH_WORDS.encode(), "extra.csv": f"{extra}\n# end\n".encode(),
             INVARIANTS_FILE: "\n".join((before, *lines, "# end\n")).encode()}
    return [f"{one.line}: {one.message}" for one in remarks(from_files(files, VOCABULARY))
            if (one.file, one.severity) == (INVARIANTS_FILE, "warning")]


def faults(table: Iterable[tuple[list[str], list[str]]]) -> dict[str, list[str]]:
    """Returns the lines whose remarks do not begin with the expected texts."""
    wrong = {}
    for lines, beginnings in table:
        found = said(*lines, extra=f"p, {ANN}, audit.view, always, deny" if ANN in lines[0] else "")
        if len(found) != len(beginnings) or not all(map(str.startswith, found, beginnings)):
            wrong[" | ".join(lines)] = found
    return wrong


def test_a_line_that_says_nothing_by_itself_is_told() -> None:
    assert faults([
        (["never, guest, order.view, except order.*"], ["2: the exceptions leave nothing of `order.view`"]),
        (["never, guest, order.*, except order.view"], []),
        (["never, guest, order.*, except product.view"], ["2: `order.*` has nothing of `product.view`"]),
        (["only, guest, audit.*"], ["2: every role inherits guest, so this invariant keeps nobody out; take it out"]),
        (["only, owner, audit.*", "only, guest, audit.view"],
         ["3: every role inherits guest, so this invariant keeps nobody out, and undoes invariants.csv:2 "
          "(`only, owner, audit.*`)"]),
        (["only, user, profile.*"], []),
        (["atmost, user, order.update, always"],
         ["2: `always` always holds for user, so this invariant forbids nothing"]),
        (["atmost, user, order.update, own", "atmost, user, order.update, shared", "atmost, user, order.*, always"],
         ["4: `always` always holds for user, so this invariant forbids nothing, and undoes invariants.csv:2, 3;"]),
        (["atmost, user, order.update, own", "atmost, user, order.update, shared",
          "atmost, user, order.update, any_hour"],
         ["4: `any_hour` always holds for user, so this invariant forbids nothing, and undoes invariants.csv:2, 3;"]),
        (["atmost, user, order.update, own", "atmost, user, order.update, shared"], []),
        (["always, guest, order.view, own"], ["2: `own` never holds for guest, so this invariant promises nothing"]),
        (["always, guest, contact.create, intranet"], []),
    ]) == {}


def test_a_line_that_another_implies_or_undoes_is_told() -> None:
    assert faults([
        (["never, guest, order.view", "never, guest, order.*"],
         ["2: without effect: invariants.csv:3 (`never, guest, order.*`) says this already; take it out"]),
        (["never, guest, order.refund", "never, user, order.refund"], []),  # a deny rule may distinguish them
        (["never, guest, order.*", "never,guest,order.*"], ["3: without effect: invariants.csv:2"]),
        (["never, guest, order.view", "never, guest, order.v*"], ["2: without effect: invariants.csv:3"]),
        (["never, user, audit.view", "only, owner, audit.*"],
         ["2: without effect: invariants.csv:3 (`only, owner, audit.*`) says this already"]),
        (["never, user, audit.*", "only, owner, audit.view", "only, owner, audit.view_facts"], []),  # but of what comes
        (["never, user, policy.update", "only, owner, policy.*", "only, developer, policy.view"],
         ["2: without effect: invariants.csv:3"]),
        (["never, developer, policy.update", "only, owner, policy.*", "only, developer, policy.view"],
         ["2: without effect: invariants.csv:3"]),
        (["only, owner, policy.*", "only, developer, policy.view"], []),
        (["only, owner, policy.view", "only, user, policy.*"],
         ["3: undoes invariants.csv:2 (`only, owner, policy.view`): lines of one kind are read together, and this "
          "one lets through all that it does; take one of them out"]),
        (["only, owner, audit.*", "only, admin, audit.*"],
         ["2: undoes invariants.csv:3 (`only, admin, audit.*`)"]),
        (["only, owner, audit.*", "only, owner , audit.*"], ["3: the same as invariants.csv:2; take it out"]),
        (["atmost, user, order.update, own_small", "atmost, user, order.update, own",
          "atmost, user, order.update, shared"],
         ["3: undoes invariants.csv:2 (`atmost, user, order.update, own_small`)"]),
        (["atmost, user, order.update, own_or_open", "atmost, user, order.update, own",
          "atmost, user, order.update, open", "atmost, user, order.update, shared"],
         ["2: undoes invariants.csv:3, 4: lines of one kind"]),
        (["atmost, support, audit.view, office_hours", "only, owner, audit.*"],
         ["2: without effect: invariants.csv:3"]),
        (["atmost, guest, order.view, own", "never, guest, order.view"], ["2: without effect: invariants.csv:3"]),
        (["atmost, guest, order.view, own", "never, guest, order.view, except order.*"],
         ["3: the exceptions leave nothing"]),
        (["always, admin, user.*, always"],
         ["2: without effect: invariants.csv:1 (`always, admin, *, always`) says this already; take it out"]),
        (["always, support, order.view, own", "always, support, order.view, always"],
         ["2: without effect: invariants.csv:3"]),
        (["always, support, order.view, always", "always, owner, order.view, always"], []),  # so may one here
        ([f"never, {ANN}, audit.view", "only, owner, audit.*"], []),  # with any role of the user
    ]) == {}


def test_a_line_about_a_person_is_not_quoted_at_another_line() -> None:
    found = said(f"only, {ANN}, audit.view", "only, owner, audit.*", "only, guest, audit.view")
    assert "undoes invariants.csv:2, 3;" in found[0] and ANN not in "".join(found)
    assert ANN not in "".join(said(f"only, {ANN}, stats.view", "only, guest, stats.view"))


def test_what_no_line_promises_administrators_is_told_of_the_file() -> None:
    rest = ALL - len(VOCABULARY.resources["user"].permissions)
    for before, number in (("# nothing", f"{ALL} of {ALL}"), ("always, admin, user.*, always", f"{rest} of {ALL}"),
                           ("always, admin, order.*, anonymous", f"{ALL} of {ALL}"),
                           ("always, owner, user.*, always", f"{ALL} of {ALL}")):
        found = [one for one in said(before=before) if "no invariant promises" in one]
        assert len(found) == 1 and found[0].startswith(f"0: no invariant promises administrators {number}"), found
        assert "write `always, admin, *, always`" in found[0]


def test_a_promise_on_a_condition_is_one_and_so_is_none_of_what_they_are_denied() -> None:
    assert said(before="always, admin, *, intranet") == []
    parts = [f"always, admin, {name}.*, always" for name in VOCABULARY.resources if name != "contact"]
    denied = "p, support, contact.*, always, deny"
    assert said(*parts, before="# but contact", extra=denied) == []
    assert "contact.create, contact.delete, contact.view" in said(*parts, before="# but contact")[0]


def test_of_an_instance_without_the_file_and_of_the_shipped_one_nothing_is_told() -> None:
    assert remarks(from_files(FILES, VOCABULARY)) == ()
    assert remarks(from_files(WITH_INVARIANTS, VOCABULARY)) == ()
