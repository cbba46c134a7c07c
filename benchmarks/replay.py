"""The speed of replays: recorded decisions a second of processor time under two policies, and those left unknown.

    python -m benchmarks.replay

Replays a week of decisions from the audit log, made under the shipped policy, under that policy and under the same with
two rules less: once with all facts that its rules read, once without a quarter of the attributes, which takes the slow
path.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any

import orjson

from benchmarks.policy import ME
from gatepost.commands import policy_files
from policies import Policy
from policies.loading.loader import from_files
from policies.questions.recorded import Entry
from policies.questions.replay import replay

ROLES = ("user", "user", "user", "support", "editor", "manager", "guest")
STATES = {"article": ("draft", "in_review", "published"), "order": ("pending", "approved"),
          "product": ("active", "draft"), "comment": ("pending", "approved")}
ACTIONS = ("create", "update", "update", "update", "delete")
GONE = (b"p, user,      article.update,       own_draft,", b"p, user,      article.delete,       own_draft,")
PERSONS = 2000


def week(decisions: int, forgotten: float) -> list[tuple[Any, ...]]:
    """Columns of audit rows, the facts as JSON, as the database has them."""
    chance = random.Random(1)
    rows: list[tuple[Any, ...]] = []
    for number in range(decisions):
        role, resource = chance.choice(ROLES), chance.choice(sorted(STATES))
        person = f"{ME[:-4]}{chance.randrange(PERSONS):04}"
        owner = person if chance.random() < 0.7 else f"{ME[:-4]}{chance.randrange(PERSONS):04}"
        row = {"owner_id": owner, "status": chance.choice(STATES[resource]),
               "department": chance.choice((None, "press"))}
        obj = {name: value for name, value in row.items() if chance.random() >= forgotten}
        action = chance.choice(ACTIONS)
        facts: dict[str, Any] = {"obj": obj, "sub": {"department": "press"}, "env": {"hour": chance.randrange(24)}}
        if chance.random() >= forgotten:
            facts["shares"] = chance.choice(([], [], [], ["write"]))
        if action == "update":
            facts["new"] = {"status": chance.choice(STATES[resource])} if chance.random() < 0.3 else {}
        key, id = f"user:{person}" if role != "guest" else role, f"{ME[:-4]}{number % 10_000:04}"
        rows.append((f"{number}", "2026-11-20T10:00:00.000000Z", "t", key, role, action, resource,
                     None if action == "create" else id, "allowed", None, 1, orjson.dumps(facts)))
    return rows


def lessened(policy: Policy) -> Policy:
    """The policy without the lines by which users change and delete their drafts."""
    files = dict(policy.files)
    lines = files["articles.csv"].splitlines(keepends=True)
    files["articles.csv"] = b"".join(line for line in lines if not line.startswith(GONE))
    files.pop("invariants.csv", None)
    return from_files(files, policy.vocabulary)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--decisions", type=int, default=100_000)
    decisions = parser.parse_args().decisions
    old = policy_files.shipped_policy()
    new = lessened(old)
    for forgotten in (0.0, 0.25):
        rows = week(decisions, forgotten)
        begun = time.process_time()
        found = replay(old, new, (Entry(*row[:-1], orjson.loads(row[-1])) for row in rows))
        seconds = time.process_time() - begun
        print(f"{decisions / seconds:>9,.0f} decisions a second, {forgotten:.0%} of the attributes left out: "
              f"{found.unchanged} as before, {found.count('refused_now')} refused now, {found.unknown} unknown")


if __name__ == "__main__":
    main()
