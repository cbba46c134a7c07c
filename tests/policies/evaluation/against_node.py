"""Every decision against node-casbin: `python -m tests.policies.evaluation.against_node --decisions 5000 --seed 1`.

Random policies under each of the models, exported like `gatepost policy export`, with random requests close to their
rules, and each row of the table of the grammar. It needs Node.js, and the folder with its casbin (`npm install
casbin@5.51.1`): `--node-modules`, or the variable NODE_MODULES. `--record` keeps a sample of the answers, which the
tests replay without Node.js.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policies import Policy
from policies.loading.sample import sample_questions
from policies.tools.export import export
from tests.policies.evaluation.node_request import Request, otherwise, request
from tests.policies.generated import (
    GROWN_CONDITIONS,
    GROWN_MODEL,
    MODELS,
    OF_PLUGINS,
    PATTERNS,
    PATTERNS_OF,
    assembled,
    policy,
    policy_with_fallbacks,
)
from tests.policies.syntax.language import READ

DRIVER = Path(__file__).with_name("node_casbin.js")
RECORDED = Path(__file__).with_name("node_answers.json")
QUESTIONS, KEPT = 40, 12  # requests for each policy; in the record


class NoNode(Exception):
    """Node.js or its casbin is missing."""


@dataclass(slots=True)
class Asked:
    """A policy, its questions, and the reasons for omitted questions."""

    policy: Policy
    requests: list[Request]
    left_out: Counter[str] = field(default_factory=Counter)
    kept: int = KEPT  # in the record

    def ours(self) -> list[bool]:
        """Returns our policy's decisions."""
        return [self.policy.decide(*one.arguments(self.policy)) for one in self.requests]

    def json(self) -> dict[str, Any]:
        """Returns the input of the driver: the export, and the requests."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in self.policy.files.items():
                (Path(folder) / name).write_bytes(content)
            found = export(Path(folder), functions=self.policy.vocabulary.functions.values(),
                           fallback_lines=self.policy.fallback_lines())
        return {"model": found.model, "policy": found.policy, "functions": found.functions,
                "requests": [one.json for one in self.requests]}


def asked(about: Policy, seed: str, kept: int = KEPT) -> Asked:
    """Returns the policy with requests that node-casbin reads as we do."""
    found = Asked(about, [], kept=kept)
    for _, question in sample_questions(about, random.Random(seed)):
        if len(found.requests) == QUESTIONS:
            break
        if reason := otherwise(about, question):
            found.left_out[reason] += 1
        else:
            found.requests.append(request(about, question))
    return found


def batch(seed: int, number: int) -> list[Asked]:
    """Returns two random policies under each model, and one with a rule for each condition of the grown grammar.

    The second policy names permissions with a fallback. It is not recorded.
    """
    found = []
    for name in (*MODELS, *OF_PLUGINS):
        chance = f"{seed} {number} {name}"
        found.append(asked(policy(random.Random(chance), name), f"{chance} asked"))
        found.append(asked(policy_with_fallbacks(random.Random(chance), name), f"{chance} asked", kept=0))
    rules = [f"p, guest, {PATTERNS_OF.get(word, PATTERNS)[0]}, {word}, allow"
             for word in GROWN_CONDITIONS if word != "always"]
    each = assembled([*rules, "p2, read:rules, article.*"], ["g, user, guest", "g, editor, user"], GROWN_MODEL)
    return [*found, asked(each, f"{seed} {number}", QUESTIONS)]


def table() -> list[Asked]:
    """Returns each row of the table of the grammar. None is recorded."""
    found = []
    for row in READ:
        about = row.policy
        questions = [question for question, _ in row.questions]
        reasons = [otherwise(about, question) for question in questions]
        alike = [request(about, question) for question, reason in zip(questions, reasons, strict=True) if not reason]
        found.append(Asked(about, alike, Counter(filter(None, reasons)), kept=0))
    return found


def node_answers(found: list[Asked], modules: Path) -> list[list[bool | str]]:
    """Returns the decisions of node-casbin; a text is the message of a failure. Raises NoNode."""
    node = shutil.which("node")
    if node is None:
        raise NoNode("there is no program `node` on the PATH")
    if not (modules / "casbin").is_dir():
        raise NoNode(f"{modules} holds no casbin; run `npm install casbin@5.51.1`, and name its node_modules by "
                     "--node-modules or NODE_MODULES")
    done = subprocess.run([node, str(DRIVER), str((modules / "casbin").resolve())], check=False, text=True,
                          input=json.dumps([one.json() for one in found]), capture_output=True)
    if done.returncode != 0:
        raise NoNode(f"node failed: {done.stderr.strip()}")
    return list(json.loads(done.stdout))


def differences(found: list[Asked], theirs: list[list[bool | str]]) -> Iterator[str]:
    """Yields each request with different answers."""
    for one, answers in zip(found, theirs, strict=True):
        for request_, our, their in zip(one.requests, one.ours(), answers, strict=True):
            if our is not their:
                files = "\n".join(content.decode() for content in one.policy.files.values())
                yield f"we say {our}, node-casbin {their}: {json.dumps(request_.json)}\n{files}"


def record(found: list[Asked], theirs: list[list[bool | str]]) -> None:
    """Records these policies, requests and answers for the tests, each request on a line."""
    kept = []
    for one, answers in zip(found, theirs, strict=True):
        if not one.kept:
            continue
        files = {name: content.decode() for name, content in one.policy.files.items()}
        lines = (_json(request_.json | {"node": answer}) for request_, answer in
                 itertools.islice(zip(one.requests, answers, strict=True), one.kept))
        kept.append(f'{{"files":{_json(files)},"asked":[\n' + ",\n".join(lines) + "]}")
    RECORDED.write_text("[" + ",\n".join(kept) + "]\n", encoding="utf-8")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--decisions", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--node-modules", type=Path, default=Path(os.environ.get("NODE_MODULES") or "node_modules"))
    parser.add_argument("--record", action="store_true", help="keep a sample of the answers for the tests")
    options = parser.parse_args()
    answers: Counter[bool] = Counter()
    left_out: Counter[str] = Counter()
    policies = 0
    for number in itertools.count():
        found = batch(options.seed, number) + ([] if number else table())
        try:
            theirs = node_answers(found, options.node_modules)
        except NoNode as error:
            sys.exit(f"Not compared with node-casbin: {error}.")
        for difference in differences(found, theirs):
            sys.exit(difference)
        if options.record and number == 0:
            record(found, theirs)
        answers.update(itertools.chain.from_iterable(one.ours() for one in found))
        left_out.update(sum((one.left_out for one in found), Counter()))
        policies += len(found)
        if answers.total() >= options.decisions:
            break
    print(f"{answers.total()} decisions of {policies} policies as node-casbin decides them, {answers[True]} of them "
          f"allow; left out: {dict(left_out)}")


if __name__ == "__main__":
    main()
