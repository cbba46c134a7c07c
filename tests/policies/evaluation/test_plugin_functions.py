"""A plugin's condition: a function with one part for an object and one part for a table."""

from __future__ import annotations

import itertools
import random
import re
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import peewee as pw
import pytest

from policies import IF, NEVER, Policy, PolicyError, Principal
from policies.evaluation.compiled import NO_OBJECT, FunctionFailed, value_of
from policies.evaluation.principal import FixedEnvironment
from policies.evaluation.sql import Where, where
from policies.explaining.explain import explain
from policies.lint.warnings import warnings
from policies.loading.loader import from_files
from policies.loading.oracle import Oracle, sampled
from policies.loading.sample import sample_questions
from policies.syntax.vocabulary import Function
from tests.policies.generated import MODEL, WHO_AND_WHAT, model
from tests.policies.shipped_vocabulary import VOCABULARY

ME = "01920000-0000-7000-8000-000000000001"
NOON, NIGHT = FixedEnvironment(hour=12), FixedEnvironment(hour=23)
ARTICLE = VOCABULARY.resources["article"]
PRESS = Principal(ME, f"user:{ME}", "user", "t", department="press")
NOWHERE = replace(PRESS, department=None)


def refuse(*_: object) -> Any:
    raise AssertionError("this half must not be asked")


BEGINS = Function(
    "begins", reads=(("obj", "department"),), literals=(str,),
    holds=lambda text, start: text is not None and text.startswith(start),
    where=lambda text, start: pw.fn.SUBSTR(text, 1, len(start)) == start,
    words={"of_p": ("p",)},
)
# An OR at its top: neighbours in a WHERE must not become a part of it.
NEARBY = Function(
    "nearby", reads=(("obj", "department"), ("sub", "department"), ("env", "hour")), literals=(int, str),
    holds=lambda theirs, mine, hour, until, other: theirs is not None and (
        theirs == other or (mine is not None and hour is not None and theirs == mine and hour < until)),
    where=lambda theirs, mine, hour, until, other: pw.SQL(
        f"department = '{other}' OR 0") | ((theirs == mine) & (hour < until)),
)
LATE = Function(
    "isLate", reads=(("env", "hour"),), literals=(int,),
    holds=lambda hour, after: hour is not None and hour >= after,
)
FUNCTIONS = {function.name: function for function in (BEGINS, NEARBY, LATE)}

MATCHER = model(
    f"{WHO_AND_WHAT} && (p.when == 'always' || "
    "p.when == 'begins' && begins(r.sub, r.obj, r.env, 'p') || "
    "p.when == 'nearby' && nearby(r.sub, r.obj, r.env, 18, 'sales') && r.obj.status == 'draft' || "
    "p.when == 'late' && isLate(r.sub, r.obj, r.env, 18) || "
    "p.when == 'by_day' && !(isLate(r.sub, r.obj, r.env, 18)) || "
    "p.when == 'late_begins' && isLate(r.sub, r.obj, r.env, 18) && begins(r.sub, r.obj, r.env, 'p'))")
WORDS = ("begins", "nearby", "late", "by_day", "late_begins")
ROWS = [
    {"id": f"{number:02}", "department": department, "status": status} for number, (department, status) in enumerate(
        itertools.product((None, "", "p", "press", "Press", "sales", "x"), (None, "draft", "published")))
]


class Row(pw.Model):
    """The columns that the conditions name."""

    id = pw.TextField(primary_key=True)
    department = pw.TextField(null=True)
    status = pw.TextField(null=True)


def policy(*rules: str, text: str = MATCHER, functions: Mapping[str, Function] = FUNCTIONS) -> Policy:
    files = {"model.conf": text, "roles.csv": "g, user, guest\ng, admin, user\n# end\n",
             "rules.csv": "\n".join([*rules, "# end\n"])}
    return from_files({name: content.encode() for name, content in files.items()},
                      replace(VOCABULARY, functions=functions))


def line(word: str, effect: str = "allow") -> str:
    return f"p, user, article.view, {word}, {effect}"


def row(**values: Any) -> dict[str, Any]:
    return ARTICLE.row(**values)


def listed(subject: Policy, principal: Principal, env: FixedEnvironment) -> set[str]:
    """Returns the ids that the SQL of the plan selects."""
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "row" (id TEXT, department TEXT, status TEXT)')
    connection.executemany('INSERT INTO "row" VALUES (?, ?, ?)', [tuple(one.values()) for one in ROWS])
    found: Where = where(
        subject.plan(principal, "article.view", env), {name: getattr(Row, name) for name in ("department", "status")},
        lambda one: pw.Value(value_of(one)(principal, NO_OBJECT, env), converter=False), refuse)
    ids: set[str] = set()
    with pw.SqliteDatabase(None).bind_ctx([Row]):
        for branch in (None,) if found.allows is None else found.allows:
            picks = [*found.denies, *(() if branch is None else (branch,))]
            query = Row.select(Row.id).where(*picks) if picks else Row.select(Row.id)
            ids |= {id for (id,) in connection.execute(*query.sql())}
    return ids


def decided(decide: Callable[..., bool], principal: Principal, env: FixedEnvironment) -> set[str]:
    return {str(one["id"]) for one in ROWS if decide(principal, "article.view", row(**one), env)}


@pytest.mark.parametrize(("word", "principal", "env", "values", "allowed"), [
    ("begins", PRESS, NOON, {"department": "press"}, True),
    ("begins", PRESS, NOON, {"department": "sales"}, False),
    ("begins", PRESS, NOON, {"department": None}, False),
    ("nearby", PRESS, NOON, {"department": "press", "status": "draft"}, True),
    ("nearby", PRESS, NIGHT, {"department": "press", "status": "draft"}, False),
    ("nearby", NOWHERE, NOON, {"department": "press", "status": "draft"}, False),
    ("nearby", NOWHERE, NOON, {"department": "sales", "status": "draft"}, True),
    ("nearby", NOWHERE, NOON, {"department": "sales", "status": "published"}, False),
    ("late", PRESS, NIGHT, {}, True),
    ("late", PRESS, NOON, {}, False),
    ("by_day", PRESS, NOON, {}, True),
    ("late_begins", PRESS, NIGHT, {"department": "p"}, True),
    ("late_begins", PRESS, NOON, {"department": "p"}, False),
])
def test_a_decision_asks_the_half_for_one_object(word, principal, env, values, allowed) -> None:
    subject = policy(line(word))
    assert subject.decide(principal, "article.view", row(**values), env) is allowed
    oracle = Oracle(subject.files, FUNCTIONS.values())
    assert oracle.decide(principal, "article.view", row(**values), env) is allowed
    assert policy(line("always"), line(word, "deny")).decide(
        principal, "article.view", row(**values), env) is not allowed


@pytest.mark.parametrize("env", [NOON, NIGHT], ids=["noon", "night"])
@pytest.mark.parametrize("principal", [PRESS, NOWHERE], ids=["of press", "of no department"])
@pytest.mark.parametrize("rules", [
    *([line(word)] for word in WORDS),
    *([line("always"), line(word, "deny")] for word in WORDS),
    [line("begins"), line("nearby"), line("late_begins", "deny")],
], ids=lambda rules: " / ".join(rules).replace("p, user, article.view, ", ""))
def test_a_list_has_exactly_the_rows_that_are_decided(rules, principal, env) -> None:
    subject = policy(*rules)
    assert listed(subject, principal, env) == decided(subject.decide, principal, env) == decided(
        Oracle(subject.files, FUNCTIONS.values()).decide, principal, env)


def test_without_an_object_what_reads_it_does_not_hold() -> None:
    always = replace(BEGINS, holds=lambda text, start: True)
    subject = policy(line("begins"), line("late"), functions=FUNCTIONS | {"begins": always})
    assert subject.decide(PRESS, "article.view", None, NOON) is False
    assert subject.decide(PRESS, "article.view", None, NIGHT) is True
    oracle = Oracle(subject.files, [always, NEARBY, LATE])
    assert oracle.decide(PRESS, "article.view", None, NOON) is False


def test_what_reads_no_column_is_settled_before_the_list() -> None:
    subject = policy(line("late_begins"))
    assert subject.plan(PRESS, "article.view", NOON).outcome is NEVER
    plan = subject.plan(PRESS, "article.view", NIGHT)
    assert (plan.outcome, plan.columns, plan.uses_environment) == (IF, {"department"}, True)
    assert subject.may_ever(PRESS, "article.view", NOON) is False


def test_a_half_sees_only_what_it_declared_to_read() -> None:
    seen: list[tuple[object, ...]] = []

    def holds(*given: object) -> bool:
        seen.append(given)
        return True

    subject = policy(line("nearby"), functions=FUNCTIONS | {"nearby": replace(NEARBY, holds=holds)})
    seen.clear()  # what was asked at load
    values = {"department": "press", "status": "draft", "title": "secret"}
    assert subject.decide(NOWHERE, "article.view", row(**values), NOON) is True
    assert seen == [("press", None, 12, 18, "sales")]
    assert subject.reads(NOWHERE, "article.view") == {*NEARBY.reads, ("obj", "status")}


@pytest.mark.parametrize("answer", [1, "yes", None, pw.SQL("1")])
@pytest.mark.parametrize("rules", [[line("begins")], [line("always"), line("begins", "deny")]])
def test_a_half_that_answers_no_truth_value_is_an_error_and_no_answer(answer, rules) -> None:
    odd = replace(BEGINS, holds=lambda text, start: answer if text == "of no literal" else False)
    subject = policy(*rules, functions=FUNCTIONS | {"begins": odd})
    with pytest.raises(FunctionFailed, match="the function begins of a plugin answers"):
        subject.decide(PRESS, "article.view", row(department="of no literal"), NOON)


@pytest.mark.parametrize("answer", [True, None, "1 = 1"])
def test_a_half_that_gives_no_sql_is_an_error_and_no_list(answer) -> None:
    subject = policy(line("begins"), functions=FUNCTIONS | {"begins": replace(BEGINS, where=lambda *_: answer)})
    with pytest.raises(FunctionFailed, match="the function begins of a plugin gives"):
        listed(subject, PRESS, NOON)


def test_an_explanation_says_what_was_read() -> None:
    subject = policy(line("begins"), line("nearby"))
    found = "\n".join(explain(subject, PRESS, "article.view", row(department="sales", status="x"), NOON).as_lines())
    assert "begins(r.sub, r.obj, r.env, 'p') does not hold: department is sales" in found
    assert "nearby(r.sub, r.obj, r.env, 18, 'sales') holds: department is sales, the caller's department is press, " \
           "the hour is 12" in found
    open_question = "\n".join(explain(subject, PRESS, "article.view", None, NOON).as_lines())
    assert "begins(r.sub, r.obj, r.env, 'p') must hold" in open_question
    assert "SUBSTR(department, 1, 1) = 'p'" in open_question


def test_casbin_is_asked_alike_at_load() -> None:
    subject = policy(*(line(word) for word in WORDS), line("begins", "deny"))
    assert sampled(subject, most=300) == []
    answers = {subject.decide(*asked) for _, asked in itertools.islice(
        sample_questions(subject, random.Random(1)), 300)}
    assert answers == {True, False}


@pytest.mark.parametrize(("half", "sentence"), [
    ({"holds": lambda text, start: text.startswith(start)}, "AttributeError(\"'NoneType' object has no attribute "
     "'startswith'\"), asked about None, 'p' ("),
    ({"holds": lambda text, start: text == "press" and 1 / 0 > 1}, "ZeroDivisionError('division by zero'), asked about "
     "'press', 'p' ("),
    ({"holds": lambda text, start: text}, "answers NoneType, not bool, asked about None, 'p' ("),
    ({"where": lambda text, start: text.begins(start)}, "fails in `where`: AttributeError"),
    ({"where": lambda text, start: True}, "gives bool in `where`, not SQL ("),
])
def test_a_function_that_fails_about_a_made_up_value_is_refused_by_name_and_line(half, sentence) -> None:
    article = replace(ARTICLE, fields={"department": Row.department})
    words = replace(VOCABULARY, resources={**VOCABULARY.resources, "article": article},
                    functions=FUNCTIONS | {"begins": replace(BEGINS, **half)})
    with pytest.raises(PolicyError) as refused:
        from_files(policy(line("begins")).files, words)
    said = str(refused.value)
    assert re.match(r"model\.conf:\d+: the function begins of a plugin ", said)
    assert sentence in said
    assert re.search(r"test_plugin_functions\.py:\d+\)$", said)


def test_a_function_of_the_request_is_never_asked_about_what_no_request_lacks() -> None:
    late = replace(LATE, holds=lambda hour, after: hour > after)
    assert policy(line("late"), functions=FUNCTIONS | {"isLate": late}).decide(PRESS, "article.view", None, NIGHT)


def test_a_function_with_a_misspelt_column_is_named_by_file_and_line() -> None:
    said = refusal(MATCHER, line("begins"), functions=FUNCTIONS | {
        "begins": replace(BEGINS, reads=(("obj", "departmnt"),))})
    assert re.search(r"begins \(.*test_plugin_functions\.py:\d+\) reads, and no collection has a column departmnt; "
                     r"did you mean department\?", said)


def test_a_list_by_it_alone_is_told_to_be_slow() -> None:
    resources = {**VOCABULARY.resources, "article": replace(ARTICLE, indexes=lambda: (("tenant_id", "status"),))}
    subject = policy(line("begins"))
    slow = from_files(subject.files, replace(VOCABULARY, resources=resources, functions=FUNCTIONS))
    assert any("no index of article serves lists by department" in str(finding) for finding in warnings(slow))


def refusal(text: str = MATCHER, *rules: str, functions: Mapping[str, Function] = FUNCTIONS) -> str:
    with pytest.raises(PolicyError) as refused:
        policy(*(rules or [line("always")]), text=text, functions=functions)
    return "\n".join(str(finding) for finding in refused.value.findings)


def test_a_plugin_that_was_taken_out_is_said_to_be_missing() -> None:
    assert "`begins` is a function of no installed plugin" in refusal(functions={})


@pytest.mark.parametrize(("written", "sentence"), [
    ("beginns(r.sub, r.obj, r.env, 'p')", "did you mean begins?"),
    ("begins(r.obj, 'p')", "write begins(r.sub, r.obj, r.env, '…')"),
    ("begins(r.sub, r.obj, r.env, 5)", "write begins(r.sub, r.obj, r.env, '…')"),
    ("nearby(r.sub, r.obj, r.env, 'sales', 18)", "write nearby(r.sub, r.obj, r.env, 0, '…')"),
    ("begins(r.sub, r.obj, r.env, r.sub.id)", "write begins(r.sub, r.obj, r.env, '…')"),
    ("!(begins(r.sub, r.obj, r.env, 'p'))", "`!` over the object"),
])
def test_a_call_of_another_form_is_refused_with_what_to_write(written: str, sentence: str) -> None:
    assert sentence in refusal(model(f"{WHO_AND_WHAT} && (p.when == 'always' || p.when == 'b' && {written})"))


def test_a_line_about_a_resource_without_the_column_is_refused() -> None:
    assert "`contact.view` with `begins`: contact has no column department" in refusal(
        MATCHER, "p, user, contact.view, begins, allow")


def test_a_word_that_the_model_lacks_is_answered_with_the_line_to_add() -> None:
    said = refusal(MODEL, line("of_p"))
    assert "`of_p` is no condition yet; add this line to the matcher of model.conf, below that of always: " \
           r"p.when == 'of_p' && begins(r.sub, r.obj, r.env, 'p') || " + "\\" in said
    added = MODEL.replace("p.when == 'always' || \\\n", "p.when == 'always' || \\\n    " + said.partition(
        "always: ")[2].splitlines()[0] + "\n")
    assert policy(line("of_p"), text=added).decide(PRESS, "article.view", row(department="p"), NOON) is True
