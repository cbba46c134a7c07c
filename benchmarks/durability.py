"""Kills a server that is written to, again and again, and counts what it acknowledged and lost: `make bench-kill`.

Set GATEPOST_DATABASE_URL to an empty Postgres database to try that instead of SQLite.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.incidents.load import SERVERS, Load, kept  # noqa: E402 - the tests' own clients
from tests.running import Instance  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writes", type=int, default=20_000, help="acknowledged, in all")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--server", choices=SERVERS, default="waitress")
    options = parser.parse_args()
    environment = {"GATEPOST_RATE_LIMITS": "off"}
    if url := os.environ.get("GATEPOST_DATABASE_URL"):
        environment["GATEPOST_DATABASE_URL"] = url
    acknowledged: set[str] = set()
    starts: list[float] = []
    with tempfile.TemporaryDirectory(prefix="gatepost-kill-") as folder:
        instance = Instance(Path(folder) / "instance", environment).made()
        for kill in range(options.kills):
            started = time.monotonic()
            with instance.served(*SERVERS[options.server]) as service:
                service.call("GET", "/api/health/live")
                starts.append(time.monotonic() - started)
                with Load(service, service.log_in(), name=f"kill-{kill}") as load:
                    load.wait(options.writes // options.kills)
                    service.process.kill()
                acknowledged |= set(load.created)
        with instance.served() as service:
            stored = kept(service, service.log_in(), "kill")
    again = sorted(starts[1:])
    print(f"{options.server}: {options.kills} kills, {len(acknowledged)} writes acknowledged, "
          f"{len(acknowledged - stored)} lost; ready again after {again[len(again) // 2]:.2f} s (median), "
          f"{again[-1]:.2f} s (longest)")
    sys.exit(bool(acknowledged - stored))


if __name__ == "__main__":
    main()
