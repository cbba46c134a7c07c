"""The export is the same policy: Casbin with the joined files makes the same decisions as Gatepost."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import casbin
import pytest
from casbin.core_enforcer import EnforceContext
from casbin.persist.adapter import load_policy_line

from policies import SHIPPED, Policy, load
from policies.cases.case_file import read_suite
from policies.cases.cases import Question
from policies.syntax.vocabulary import Function
from policies.tools.export import Export, export
from tests.policies.editing import add_line, shipped_copy
from tests.policies.shipped_vocabulary import VOCABULARY


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load(SHIPPED, VOCABULARY)


class Missing:
    """A missing value, which equals nothing."""

    def __eq__(self, other: object) -> bool:
        return False

    __ge__ = __lt__ = __gt__ = __le__ = __eq__
    __hash__ = None  # type: ignore[assignment]


def stock(found: Export, question: Question | None = None, policy: Policy | None = None) -> casbin.Enforcer:
    """Returns Casbin as its editor starts it: one model, one policy, and `shared` as a function."""
    model = casbin.Model()
    model.load_model_from_text(found.model)
    enforcer = casbin.Enforcer(model)
    for line in found.policy.splitlines():
        load_policy_line(line.strip(), enforcer.model)
    enforcer.build_role_links()
    if question is not None:
        assert policy is not None
        answer = question.thing.shared_under(policy)(question.principal, {}, question.permission)
        enforcer.add_function("shared", lambda *_: answer)
    return enforcer


def asked_of_casbin(enforcer: casbin.Enforcer, question: Question) -> bool:
    def attributes(values: dict[str, object]) -> SimpleNamespace:
        return SimpleNamespace(**{name: Missing() if value is None else value for name, value in values.items()})

    principal = question.principal
    subject = {name: getattr(principal, name) for name in ("id", "key", "role", "tenant_id", "department", "kind")}
    environment = {name: getattr(question.case.environment, name)
                   for name in ("hour", "weekday", "date", "now", "ip", "device", "method", "request")}
    row = {name: None for name in ("owner_id", "status", "department", "id")} | dict(question.thing.columns or {})
    answer = enforcer.enforce(attributes(subject), question.permission, attributes(row), attributes(environment))
    if answer and principal.scopes is not None:
        context = EnforceContext("r2", "p2", "e2", "m2")
        return any(enforcer.enforce(context, scope, question.permission) for scope in principal.scopes)
    return bool(answer)


def test_casbin_reads_every_line_of_the_export(shipped: Policy) -> None:
    enforcer = stock(export(SHIPPED))
    assert sorted(map(tuple, enforcer.get_policy())) == sorted(
        (rule.sub, rule.act, rule.when, rule.eft) for rule in shipped.rules
    )
    assert sorted(map(tuple, enforcer.get_named_policy("p2"))) == sorted(
        (line.scope, line.act) for line in shipped.scopes
    )
    assert sorted(map(tuple, enforcer.get_grouping_policy())) == sorted(
        (link.name, link.inherits) for link in shipped.roles.links
    )


def test_casbin_answers_every_shipped_case_by_the_export(shipped: Policy) -> None:
    suite = read_suite((SHIPPED / "tests.yaml").read_text(), "tests.yaml", VOCABULARY)
    found = export(SHIPPED, fallback_lines=shipped.fallback_lines())
    # Casbin takes milliseconds for each: every seventh question reaches every case.
    for question in list(suite.questions(VOCABULARY))[::7]:
        assert asked_of_casbin(stock(found, question, shipped), question) == question.asked_of(shipped), question


def test_a_plugins_rules_are_in_it_unless_the_folder_replaces_them(tmp_path: Path) -> None:
    directory = shipped_copy(tmp_path / "policies")
    plugin = tmp_path / "notes.csv"
    plugin.write_text("# Notes\np, user, page.create, own, allow\n# end\n")
    assert "# notes.csv\np, user, page.create, own, allow\n" in export(directory, {"notes.csv": plugin}).policy
    (directory / "notes.csv").write_text("# Notes\n# end\n")
    assert "p, user, page.create" not in export(directory, {"notes.csv": plugin}).policy


def test_hand_made_changes_are_exported(tmp_path: Path) -> None:
    directory = shipped_copy(tmp_path / "policies")
    add_line(directory / "model.conf", "    p.when == 'night' && r.env.hour < 6 || \\")
    add_line(directory / "admin.csv", "p,   user,   stats.view,   night,   allow")
    found = export(directory)
    assert "p.when == 'night' && r.env.hour < 6" in found.model
    assert "p, user, stats.view, night, allow\n" in found.policy


def test_the_export_is_plain_text_without_remarks_in_its_lines() -> None:
    found = export(SHIPPED)
    assert found.model.isascii()
    assert all("#" not in line for line in found.model.splitlines())
    assert all(line.startswith("# ") or "#" not in line for line in found.policy.splitlines())


def test_the_functions_that_casbin_lacks_are_there_to_be_tried() -> None:
    near = Function("near", reads=(("obj", "region"), ("env", "hour")), literals=(str, int), holds=lambda *_: True)
    found = export(SHIPPED, functions=[near]).functions
    assert re.findall(r"^ +(\w+): (\(.*?\)) =>", found, re.MULTILINE) == [
        ("shared", "(sub, obj, act)"), ("inGroup", "(sub, ...name)"), ("olderThan", "(time, duration)"),
        ("youngerThan", "(time, duration)"), ("near", "(sub, obj, env, literal1, literal2)")]
    assert "looks at r.obj.region, r.env.hour" in found
    assert [found.count(bracket) for bracket in "({"] == [found.count(bracket) for bracket in ")}"]


def test_the_policy_says_what_other_casbins_make_of_missing_values() -> None:
    head = export(SHIPPED).policy.partition("\n\n")[0]
    assert all(line.startswith("# ") for line in head.splitlines())
    assert "leave its key out" in head
