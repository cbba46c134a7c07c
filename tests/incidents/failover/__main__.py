"""Rounds of failing primaries: `python -m tests.incidents.failover --rounds 20 --seed 1` (`make failover`).

It fails

- if an acknowledged write is lost or stored twice,
- if the first write comes later than 10 s after the promotion,
- if another node accepts an ended credential for longer than a second,
- on an answer that is neither a success nor a 503 with Retry-After (409 if the first request may still run, 502 of
  nginx for a write whose node was killed),
- if a client waits for a missing standby for longer than the statement timeout and two seconds.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from time import monotonic

from tests.incidents.failover.cluster import running_cluster
from tests.incidents.failover.nodes import STATEMENT_TIMEOUT, running_nodes
from tests.incidents.failover.play import KINDS, Seen, play

PROMPT = 10.0  # seconds from the promotion to the first write of each node
REVOKED = 1.0  # seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--kind", choices=KINDS, help="of all rounds; else one after another")
    parser.add_argument("--verbose", action="store_true", help="tell of each step")
    options = parser.parse_args()
    print(f"--seed {options.seed}", flush=True)
    chance, rounds = random.Random(options.seed), list[Seen]()
    with (tempfile.TemporaryDirectory(prefix="gatepost-failover-") as folder, running_cluster() as cluster,
          running_nodes(cluster, Path(folder)) as nodes):
        for number in range(options.rounds):
            kind, began = options.kind or KINDS[number % len(KINDS)], monotonic()
            seen = play(cluster, nodes, kind, f"round-{number}", chance,
                        say=lambda text: print(f"  {text}", flush=True) if options.verbose else None)
            _check(seen)
            rounds.append(seen)
            print(f"{number + 1}. {kind}: {seen.writes} writes; promoted in {seen.promotion:.1f} s, first of each "
                  f"node after {_shown(seen.after)} s, none for {seen.outage:.1f} s, longest answer "
                  f"{seen.longest:.1f} s; revoked after {_shown(list(seen.revoked.values()), 3)} s; "
                  f"{monotonic() - began:.0f} s in all",
                  *seen.wrong[:20], sep="\n   ", flush=True)
    for kind in KINDS:
        found = [seen for seen in rounds if seen.kind == kind]
        if found:
            after = [each for seen in found for each in seen.after]
            print(f"{kind}, {len(found)} rounds: first write after the promotion: median {median(after):.1f} s, "
                  f"at most {max(after):.1f} s; promoted in at most {max(seen.promotion for seen in found):.1f} s; "
                  f"no write for at most {max(seen.outage for seen in found):.1f} s; "
                  f"{sum(seen.local for seen in found)} stored by the old primary alone, "
                  f"{sum(seen.claimed for seen in found)} of them acknowledged")
    revoked = [each for seen in rounds for each in seen.revoked.values()] or [0.0]
    answers = sum((Counter(seen.answers) for seen in rounds), Counter[str]())
    wrong = sum(len(seen.wrong) for seen in rounds)
    print(f"{sum(seen.writes for seen in rounds)} acknowledged writes; revoked on the other nodes after "
          f"{median(revoked):.3f} s, at most {max(revoked):.3f} s; {wrong} wrong",
          *(f"  {answer}: {count}" for answer, count in answers.most_common()), sep="\n")
    return min(wrong, 1)


def _check(seen: Seen) -> None:
    seen.wrong += [f"a node wrote again only after {each:.1f} s" for each in seen.after if each > PROMPT]
    if seen.kind == "standby gone" and seen.longest > STATEMENT_TIMEOUT + 2:
        seen.wrong.append(f"a client waited {seen.longest:.1f} s for a commit")
    seen.wrong += [f"{how}: taken for {each:.2f} s more" for how, each in seen.revoked.items() if each > REVOKED]


def _shown(seconds: list[float], digits: int = 1) -> str:
    return ", ".join(f"{each:.{digits}f}" for each in seconds)


if __name__ == "__main__":
    sys.exit(main())
