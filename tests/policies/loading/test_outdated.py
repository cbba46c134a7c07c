"""Rules that an older version accepted: a change with one is refused, and a start disables it."""

from __future__ import annotations

import pytest

from policies import Column, PolicyError, Principal, Resource, Vocabulary
from policies.evaluation.principal import FixedEnvironment
from policies.invariants import report
from policies.lint.warnings import warnings
from policies.loading.folder import Folder
from policies.loading.loader import load
from policies.loading.watch import Watcher
from policies.usage.unused import CLOSED, unused
from tests.policies.editing import add_line, replace, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY

ALWAYS = "p.when == 'always' || \\\n"
# An argument that no object has: an older version accepted it.
WORD = r"p.when == 'on_duty' && inGroup(r.sub, r.sub.department)"
ROW = VOCABULARY.resources["article"].row(status="draft", owner_id="00000000-0000-7000-8000-000000000009")


def caller(role: str) -> Principal:
    return Principal("00000000-0000-7000-8000-000000000001", "user:00000000-0000-7000-8000-000000000001", role,
                     "00000000-0000-7000-8000-0000000000f1", "atlas", groups=("atlas",))


@pytest.fixture
def folder(tmp_path):
    """Rules that an older version accepted: an allow rule for editors, and a deny rule for support."""
    made = shipped_copy(tmp_path / "policies")
    replace(made / "model.conf", ALWAYS, f"{ALWAYS}    {WORD} || \\\n")
    add_line(made / "articles.csv", "p, support, article.delete, on_duty, allow")
    add_line(made / "articles.csv", "p, editor, article.update, on_duty, deny")
    return made


def may(policy, role, permission):
    return policy.decide(caller(role), permission, ROW, FixedEnvironment())


# A plugin's collection: the weight of a parcel is known once it is created.
PARCELS = Vocabulary({**VOCABULARY.resources, "parcel": Resource(
    "parcel", frozenset(("parcel.create", "parcel.manage", "parcel.view")),
    {"id": Column(str, False, "uuid"), "owner_id": Column(str, True, "uuid"),
     "weight": Column(int, False, null_at_create=True)})})


@pytest.fixture
def parcels(tmp_path):
    """Writes the rules of the plugin into a folder with a condition about the weight."""
    made = shipped_copy(tmp_path / "policies")
    replace(made / "model.conf", ALWAYS, f"{ALWAYS}    p.when == 'heavy' && r.obj.weight > 9 || \\\n"
                                         "    p.when == 'heavy_elsewhere' && "
                                         "r.obj.weight > 9 && r.obj.owner_id != r.sub.id || \\\n")

    def write(*lines: str):
        (made / "parcels.csv").write_text("\n".join((*lines, "# end", "")))
        return made

    return write


@pytest.mark.parametrize(("line", "told"), [
    ("p, user, parcel.create, heavy, allow", "`parcel.create` with `heavy`"),
    ("p, user, parcel.*, heavy, deny", "`parcel.*` with `heavy`"),
    ("p, manager, *.create, heavy_elsewhere, deny", "`*.create` with `heavy_elsewhere`"),
])
def test_a_rule_about_create_reads_nothing_that_is_known_later(parcels, line, told):
    with pytest.raises(PolicyError) as refused:
        load(parcels("p, user, parcel.view, heavy, allow", line), PARCELS)
    found = [one for one in refused.value.findings if one.file == "parcels.csv" and "no column" not in one.message]
    assert [(one.line, one.outdated) for one in found] == [(2, True)]
    assert found[0].message.startswith(told)
    assert "a new parcel has no weight when parcel.create is decided" in found[0].message
    assert found[0].message.endswith("without parcel.create: parcel.manage, parcel.view")


def test_a_rule_about_other_permissions_may_read_it(parcels):
    assert load(parcels("p, user, parcel.view, heavy, allow", "p, user, parcel.create, own, allow",
                        "p, user, parcel.manage, heavy, deny"), PARCELS)


def test_a_start_closes_a_rule_about_create_that_reads_it(parcels):
    policy = load(parcels("p, user, parcel.create, always, allow", "p, user, parcel.*, heavy, deny",
                          "p, support, parcel.*, heavy, allow"), PARCELS, closing=True)
    row = {"id": "x", "owner_id": None, "weight": None}
    assert not policy.decide(caller("user"), "parcel.create", row, FixedEnvironment())
    assert len(policy.closed) == 2


def test_a_change_with_such_a_line_is_refused_where_the_line_stands(folder):
    with pytest.raises(PolicyError) as refused:
        load(folder, VOCABULARY)
    (finding,) = refused.value.findings
    assert refused.value.outdated and finding.file == "model.conf"
    assert WORD in (folder / "model.conf").read_text().splitlines()[finding.line - 1]
    assert "inGroup takes a column of the object or a group in quotes, not r.sub.department" in finding.message
    assert "used by articles.csv:" in finding.message


@pytest.mark.parametrize("argument", ["r.sub.department", "r.sub.kind", "r.env.ip", "r.env.device", "r.env.method"])
def test_a_group_is_a_column_of_the_object_or_a_name_in_quotes(folder, argument):
    replace(folder / "model.conf", "r.sub.department)", f"{argument})")
    with pytest.raises(PolicyError, match=f"not {argument}"):
        load(folder, VOCABULARY)


@pytest.mark.parametrize(("condition", "message"), [
    ("ipMatch(r.env.ip, '::ffff:10.0.0.0/104')", "write '10.0.0.0/8'"),
    ("!ipMatch(r.env.ip, '::ffff:0:0/96')", "write '0.0.0.0/0'"),
    ("r.env.ip == '::ffff:10.1.2.3'", "no request has the address '::ffff:10.1.2.3'; write '10.1.2.3'"),
    ("r.env.ip != '2001:DB8::1'", "write '2001:db8::1'"), ("r.env.ip == '10.1.2.3:443'", "write '10.1.2.3'"),
    ("r.env.ip == 'office'", "no request has the address 'office'"),
    ("(r.env.ip in['10.1.2.3', '10.1.2.4', 'FE80::1'])", "write 'fe80::1'"),
])
def test_an_address_is_written_as_requests_have_it(folder, condition, message):
    replace(folder / "model.conf", "inGroup(r.sub, r.sub.department)", condition)
    with pytest.raises(PolicyError) as refused:
        load(folder, VOCABULARY)
    (finding,) = refused.value.findings
    assert message in finding.message and refused.value.outdated
    assert condition in (folder / "model.conf").read_text().splitlines()[finding.line - 1]
    policy = load(folder, VOCABULARY, closing=True)
    assert not may(policy, "support", "article.delete") and not may(policy, "editor", "article.update")


def test_a_parameter_is_no_address(folder):
    replace(folder / "model.conf", WORD, "p.when == 'from:' + r.env.ip")
    for rule in ("p, support, article.delete, ", "p, editor, article.update, "):
        replace(folder / "articles.csv", f"{rule}on_duty", f"{rule}from:office")
    with pytest.raises(PolicyError) as refused:
        load(folder, VOCABULARY)
    assert [finding.file for finding in refused.value.findings] == ["articles.csv", "articles.csv", "model.conf"]
    assert all(" address" in finding.message for finding in refused.value.findings) and refused.value.outdated
    assert not may(load(folder, VOCABULARY, closing=True), "editor", "article.update")


def test_closed_an_allow_never_matches_and_a_deny_always_does(folder):
    policy = load(folder, VOCABULARY, closing=True)
    assert {rule.act for rule in policy.closed} == {"article.delete", "article.update"}
    assert not may(policy, "support", "article.delete"), "the caller is in the group of that name"
    assert not may(policy, "editor", "article.update")
    assert may(policy, "editor", "article.publish"), "no other line is touched"


def test_a_list_shows_as_much_as_decisions_allow(folder):
    add_line(folder / "articles.csv", "p, guest, article.view, on_duty, deny")
    policy = load(folder, VOCABULARY, closing=True)
    for role in ("guest", "user", "editor"):
        assert not policy.may_ever(caller(role), "article.view", FixedEnvironment())


def test_no_line_is_called_useless_beside_closed_ones(folder):
    add_line(folder / "articles.csv", "p, user, article.view, on_duty, deny")
    policy = load(folder, VOCABULARY, closing=True)
    assert warnings(policy) == (), "the closed deny makes every line about article.view useless for now"
    found = unused(policy, "2026-10-24T00:00:00.000000Z", {}, (), ())
    assert not found.idle and not any(line.alike for line in found.unseen) and found.gaps == (CLOSED,)


def test_another_mistake_beside_it_is_not_forgiven(folder):
    add_line(folder / "articles.csv", "p, support, article.view, alwys, allow")
    with pytest.raises(PolicyError) as refused:
        load(folder, VOCABULARY, closing=True)
    assert not refused.value.outdated and "alwys" in str(refused.value)


def test_a_service_starts_on_such_lines_and_takes_over_the_edit_that_mends_them(folder, tmp_path, caplog):
    watcher = Watcher(Folder(folder, VOCABULARY), keep=tmp_path)
    assert watcher.status.outdated and "inGroup takes" in str(watcher.trouble) and "inGroup takes" in caplog.text
    assert not may(watcher.current, "support", "article.delete")
    assert watcher.settle(), "a change of these rules may be applied"
    assert watcher.reload().outdated, "nothing has changed"

    add_line(folder / "articles.csv", "p, support, article.view, always, allow")
    assert watcher.reload().error is not None and not watcher.status.outdated, "an edit must mend what is refused"

    replace(folder / "model.conf", "r.sub.department)", "'atlas')")
    assert watcher.reload().error is None
    assert may(watcher.current, "support", "article.delete") and not watcher.current.closed


def test_an_edit_that_is_taken_back_leaves_the_status_of_the_start(folder, tmp_path):
    watcher = Watcher(Folder(folder, VOCABULARY), keep=tmp_path)
    before = (folder / "articles.csv").read_text()
    add_line(folder / "articles.csv", "p, support, article.view, alwys, allow")
    assert "alwys" in str(watcher.reload().error) and not watcher.status.outdated and not watcher.settle()
    (folder / "articles.csv").write_text(before)
    assert watcher.reload().outdated and "alwys" not in str(watcher.trouble)
    assert watcher.settle(), "a change of these rules may be applied"


def test_it_starts_on_them_even_while_the_files_are_broken_otherwise(folder, tmp_path):
    Watcher(Folder(folder, VOCABULARY), keep=tmp_path)
    add_line(folder / "articles.csv", "p, support, article.view, alwys, allow")
    watcher = Watcher(Folder(folder, VOCABULARY), keep=tmp_path)
    assert watcher.current.closed and "alwys" in str(watcher.trouble)


def test_a_start_does_not_take_over_an_edit_that_was_refused_for_such_a_line(tmp_path):
    made = shipped_copy(tmp_path / "policies")
    Watcher(Folder(made, VOCABULARY), keep=tmp_path)
    replace(made / "model.conf", ALWAYS, f"{ALWAYS}    {WORD} || \\\n")
    add_line(made / "articles.csv", "p, support, article.delete, on_duty, allow")
    add_line(made / "articles.csv", "p, support, article.publish, always, allow")
    watcher = Watcher(Folder(made, VOCABULARY), keep=tmp_path)
    assert not may(watcher.current, "support", "article.publish") and not watcher.current.closed
    assert "inGroup takes" in str(watcher.trouble) and not watcher.status.outdated


def test_a_promise_that_a_closed_deny_breaks_does_not_stop_the_start(folder):
    (folder / "invariants.csv").write_text("always, editor, article.update, always\n# end\n")
    replace(folder / "articles.csv", "p, editor, article.update, on_duty, deny",
            "p, editor, article.update, always, allow\np, editor, article.update, on_duty, deny")
    assert load(folder, VOCABULARY, closing=True).closed


def test_a_line_that_an_invariant_forbids_is_closed_where_it_was_in_force(folder):
    add_line(folder / "articles.csv", "p, support, article.publish, always, allow")
    (folder / "invariants.csv").write_text("never, support, article.publish\n# end\n")
    policy = load(folder, VOCABULARY, closing=True)
    assert not may(policy, "support", "article.publish") and may(policy, "editor", "article.publish")


def test_a_start_closes_what_breaks_an_invariant_by_a_newer_proof(tmp_path, monkeypatch):
    """The older version did not detect what the rule permits."""
    made = shipped_copy(tmp_path / "policies")
    add_line(made / "articles.csv", "p, support, article.publish, always, allow")
    (made / "invariants.csv").write_text("never, support, article.publish\n# end\n")
    with monkeypatch.context() as older:
        older.setattr(report, "broken", lambda policy, invariants: [])
        assert Watcher(Folder(made, VOCABULARY), keep=tmp_path).status.error is None
    watcher = Watcher(Folder(made, VOCABULARY), keep=tmp_path)
    assert not may(watcher.current, "support", "article.publish") and may(watcher.current, "editor", "article.publish")
    assert watcher.status.outdated and "forbids this" in str(watcher.trouble)
    assert watcher.reload().outdated and watcher.settle(), "a change of these rules may be applied"
    replace(made / "articles.csv", "p, support, article.publish, always, allow\n", "")
    assert watcher.reload().error is None


def test_no_start_takes_over_an_edit_that_breaks_an_invariant(tmp_path):
    made = shipped_copy(tmp_path / "policies")
    (made / "invariants.csv").write_text("never, guest, article.delete\n# end\n")
    Watcher(Folder(made, VOCABULARY), keep=tmp_path)
    add_line(made / "articles.csv", "p, guest, article.delete, always, allow")
    watcher = Watcher(Folder(made, VOCABULARY), keep=tmp_path)
    assert not watcher.status.outdated and not watcher.current.closed
    with pytest.raises(PolicyError, match="forbids this"):
        Watcher(Folder(made, VOCABULARY))
