"""The effect of attacks on an honest client: `make attacks`.

The targets are waitress, and both servers behind nginx and Caddy, each with its sample from deploy/. Each attack has a
server of its own with the shipped limits. The attacker uses another address of the loopback interface than the honest
client. `--before COMMIT` attacks that commit, too, and shows both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import sleep

from benchmarks.hostile.attacks import ATTACKS, Attack
from benchmarks.hostile.honest import Honest, asking
from benchmarks.hostile.server import GUARDED, ROOT, Checkout, checked_out

LIMIT = 0.1  # seconds that 99 % of the honest client's requests may take
SETTLED = 1.0  # seconds of attack before the honest client is measured


@dataclass(frozen=True)
class Seen:
    """Waits of the honest clients (99th percentile and longest, in seconds), and their requests without an answer."""

    page: float
    live: float
    longest: float
    unanswered: int
    asked: int
    cpu: float

    def __str__(self) -> str:
        return (f"{_ms(self.page)} {_ms(self.live)} {_ms(self.longest)} {self.unanswered:>5}/{self.asked:<4} "
                f"{self.cpu:>5.1f}")

    @property
    def good(self) -> bool:
        return self.page < LIMIT and self.live < LIMIT and self.unanswered == 0


def observe(checkout: Checkout, server: str, attack: Attack, seconds: float) -> Seen:
    """Attacks one server. Returns what honest clients saw during the attack."""
    with checkout.served(server, descriptors=attack.descriptors) as served:
        served.token()
        cpu = served.cpu_seconds()
        with attack.running(served, seconds + SETTLED):
            sleep(SETTLED)
            page, live = Honest(served.port, "/api/articles?limit=1"), Honest(served.port, "/api/health/live")
            with asking(page, live):
                sleep(seconds)
        waits = page.waits + live.waits
        return Seen(page.quantile(0.99), live.quantile(0.99), max(waits), page.unanswered + live.unanswered,
                    len(waits), served.cpu_seconds() - cpu)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="COMMIT", help="attack this commit, too")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each attack")
    parser.add_argument("--articles", type=int, default=20_000)
    parser.add_argument("--only", nargs="*", default=list(ATTACKS), help="attacks by the beginning of their names")
    parser.add_argument("--servers", nargs="*", choices=GUARDED, default=GUARDED)
    options = parser.parse_args()
    chosen = [attack for name, attack in ATTACKS.items() if any(name.startswith(begin) for begin in options.only)]
    sys.exit(not run(chosen, options.servers, options.before, options.seconds, options.articles))


def run(attacks: Sequence[Attack], servers: Sequence[str], before: str | None, seconds: float, articles: int) -> bool:
    """Prints the table. Returns True if all results of this checkout are good."""
    good = True
    with checked_out(before) as old, tempfile.TemporaryDirectory(prefix="gatepost-attacks-") as folder:
        checkouts = {"before": Checkout(old, Path(folder) / "before")} if before else {}
        checkouts["now"] = Checkout(ROOT, Path(folder) / "now")
        for checkout in checkouts.values():
            checkout.make(articles)
        print(f"{'':34} {'':21} {'':6} {'page':>8} {'live':>8} {'longest':>8} {'no answer':>10} {'CPU s':>5}")
        for attack in attacks:
            for server in servers:
                if server not in attack.servers:
                    continue
                for name, checkout in checkouts.items():
                    seen = observe(checkout, server, attack, seconds)
                    verdict = "" if name == "before" or seen.good else "  <- not good"
                    good = good and not verdict
                    print(f"{attack.name:34} {server:21} {name:6} {seen}{verdict}", flush=True)
    print(f"page, live: 99 % of the answers to a page and to the liveness probe; good: under {LIMIT * 1000:.0f} ms, "
          "and none without an answer")
    return good


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:>5.0f} ms"


if __name__ == "__main__":
    main()
