"""The cost of one decision and one plan, beside `casbin.Enforcer` on the same files in the same run.

    python -m benchmarks.policy

Policies of 50, 500 and 5 000 rules; medians of repeated rounds, in microseconds, and Casbin's median over ours.
Casbin reads every rule for a refusal, so half of the requests are allowed and half are refused.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace

from policies import SHIPPED, Column, Policy, Principal, Resource, Vocabulary
from policies.loading.loader import from_files
from policies.loading.oracle import Oracle

SIZES = (50, 500, 5000)
CONDITIONS = ("own", "own_draft", "published", "same_department", "office_hours", "shared", "shared_draft")
ROLES = ("guest", "user", "support", "editor", "moderator", "manager", "developer", "owner", "admin")
ACTIONS = ("view", "create", "update", "delete", "publish", "export")
TEXT = Column(str, nullable=True)
COLUMNS = {name: TEXT for name in ("id", "owner_id", "department", "status")}
ME = "01920000-0000-7000-8000-000000000001"
NOON = SimpleNamespace(
    hour=12, weekday=3, date="2026-11-18", ip="10.1.2.3", device="desktop", method="GET", request="read"
)


def files_of(size: int) -> tuple[dict[str, bytes], Vocabulary]:
    """A policy of `size` rules: as many resources as it takes, a tenth of the rules for single users."""
    chance = random.Random(size)
    names = ["article", *(f"thing{number}" for number in range(size // 12))]
    resources = {name: Resource(name, frozenset(f"{name}.{action}" for action in ACTIONS), COLUMNS) for name in names}
    lines = ["p, user, article.update, own_draft, allow", "p, user, article.view, published, allow"]
    while len(lines) < size:
        who = f"user:{ME[:-8]}{chance.randrange(10**8):08}" if chance.random() < 0.1 else chance.choice(ROLES[1:])
        what = f"{chance.choice(names[1:])}.{chance.choice((*ACTIONS, '*'))}"
        lines.append(f"p, {who}, {what}, {chance.choice(CONDITIONS)}, {chance.choice(('allow', 'deny'))}")
    shipped = {name: (SHIPPED / name).read_bytes() for name in ("model.conf", "roles.csv")}
    rules = "\n".join([*lines, "p2, read:rules, article.view", "# end\n"])
    return {**shipped, "rules.csv": rules.encode()}, Vocabulary(resources)


def median(ask: Callable[[], object], rounds: int, repeat: int) -> float:
    """The median of `rounds` rounds of `repeat` calls each, in microseconds a call."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(repeat):
            ask()
        times.append((time.perf_counter() - begun) / repeat * 1e6)
    return statistics.median(times)


def measured(size: int, quick: bool) -> tuple[float, ...]:
    """Load (s), Casbin's load (s), decision, plan and Casbin's decision (µs) at `size` lines."""
    files, vocabulary = files_of(size)
    begun = time.perf_counter()
    policy = from_files(files, vocabulary)
    loaded = time.perf_counter() - begun
    begun = time.perf_counter()
    oracle = Oracle(files)
    loaded_by_casbin = time.perf_counter() - begun
    me = Principal(ME, f"user:{ME}", "user", "t", "press")
    mine = {"id": "1", "owner_id": ME, "department": "press", "status": "draft"}
    rows = (mine, {**mine, "status": "published"})

    def decide(by: Policy | Oracle) -> Callable[[], object]:
        return lambda: [by.decide(me, "article.update", row, NOON) for row in rows]

    if decide(policy)() != decide(oracle)():
        raise SystemExit(f"Casbin answers differently at {size} lines")
    rounds, repeat = (3, 1000) if quick else (15, 20_000)
    ours = median(decide(policy), rounds, repeat) / len(rows)
    plan = median(lambda: policy.plan(me, "article.update", NOON), rounds, repeat)
    casbin = median(decide(oracle), 3 if quick else 7, max(1, (300 if quick else 3000) // size)) / len(rows)
    return loaded, loaded_by_casbin, ours, plan, casbin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it runs")
    quick = parser.parse_args().quick
    print(f"{'lines':>6} {'decide µs':>10} {'plan µs':>8} {'casbin µs':>10} {'ratio':>8} {'load s':>7} {'casbin s':>9}")
    for size in SIZES:
        loaded, loaded_by_casbin, ours, plan, casbin = measured(size, quick)
        print(
            f"{size:>6} {ours:>10.2f} {plan:>8.2f} {casbin:>10.0f} {casbin / ours:>8.0f} {loaded:>7.2f}"
            f" {loaded_by_casbin:>9.2f}"
        )


if __name__ == "__main__":
    main()
