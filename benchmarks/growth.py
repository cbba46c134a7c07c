"""The gigabytes a day that one address, or one account, can store within the limits: `make growth`.

`--before COMMIT` measures that commit, too, and shows both.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.hostile.growth import MEASURES
from benchmarks.hostile.server import ROOT, Checkout, checked_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="COMMIT", help="measure this commit, too")
    parser.add_argument("--only", nargs="*", default=list(MEASURES), help="by the beginning of their names")
    options = parser.parse_args()
    with checked_out(options.before) as old:
        folders = {"before": old} if options.before else {}
        folders["now"] = ROOT
        for name, measure in MEASURES.items():
            if any(name.startswith(begin) for begin in options.only):
                for version, folder in folders.items():
                    with tempfile.TemporaryDirectory(prefix="gatepost-growth-") as place:
                        checkout = Checkout(folder, Path(place) / "instance")
                        checkout.make(10)
                        print(f"{name:31} {version:6} {measure(checkout)}", flush=True)


if __name__ == "__main__":
    main()
