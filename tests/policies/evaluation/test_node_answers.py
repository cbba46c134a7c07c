"""Recorded decisions of node-casbin equal ours and pycasbin's: a record of `make proofs`, replayed without Node.js."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from policies import Policy
from policies.loading.loader import from_files
from policies.loading.oracle import Oracle
from tests.policies.evaluation.against_node import RECORDED, NoNode, batch, node_answers
from tests.policies.evaluation.node_request import Request
from tests.policies.generated import GROWN_CONDITIONS, MODELS, OF_PLUGINS, WITH_FUNCTIONS

RECORD: list[dict[str, Any]] = json.loads(RECORDED.read_text(encoding="utf-8"))
COMMAND = "make proofs RECORD=--record"


def recorded(one: dict[str, Any]) -> Policy:
    return from_files({name: text.encode() for name, text in one["files"].items()}, WITH_FUNCTIONS)


@pytest.mark.parametrize("number", range(len(RECORD)))
def test_node_casbin_answered_as_we_and_pycasbin_do(number: int) -> None:
    policy = recorded(RECORD[number])
    oracle = Oracle.of(policy)
    for asked in RECORD[number]["asked"]:
        request = Request(tuple(asked["values"]), asked["scopes"], asked["answers"])
        question = request.arguments(policy)
        answers = policy.decide(*question), oracle.decide(*question)
        assert answers == (asked["node"], asked["node"]), asked


def test_the_record_is_of_every_model_and_every_condition_of_the_grown_grammar() -> None:
    policies = [recorded(one) for one in RECORD]
    assert {one["files"]["model.conf"] for one in RECORD} == {
        text for text, _ in (MODELS | OF_PLUGINS).values()}, COMMAND
    assert {rule.when for policy in policies for rule in policy.rules} >= set(GROWN_CONDITIONS), COMMAND


def test_the_record_holds_requests_that_are_allowed_that_are_refused_and_that_lack_values() -> None:
    asked = [one for policy in RECORD for one in policy["asked"]]
    assert Counter(one["node"] for one in asked)[True] > 20
    assert Counter(one["node"] for one in asked)[False] > 100
    read = {name for one in asked for name in one["values"][2]}
    for name in read - {"active"}:
        assert any(one["values"][2] and name not in one["values"][2] for one in asked), name


def test_few_questions_are_left_out_because_node_casbin_reads_missing_values_otherwise() -> None:
    found = batch(1, 0)
    left_out = sum((one.left_out for one in found), Counter())
    assert set(left_out) == {"!= with a missing value", "== of two missing values"}
    assert left_out.total() < sum(len(one.requests) for one in found) / 10


def test_without_node_or_its_casbin_it_is_said_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoNode, match="no program `node` on the PATH"):
        node_answers([], tmp_path)
    (tmp_path / "node").touch(mode=0o755)
    with pytest.raises(NoNode, match="holds no casbin; run `npm install casbin@5"):
        node_answers([], tmp_path)
