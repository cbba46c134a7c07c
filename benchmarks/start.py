"""CPU seconds until Gatepost is ready: of each common command, and of `create_app`, the first in a process and later.

Each figure is the median of several runs. The first run does not count, because it compiles the modules. CPU seconds
include the system's share. Other programs disturb them less than elapsed seconds, but they still grow on a busy
machine, so compare only figures of one run. `--beside FOLDER`, a checkout with an environment of its own, prints its
figures beside ours.

    python -m benchmarks.start --runs 7
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
COMMANDS = (
    ("--version",), ("--help",), ("settings",), ("policy", "check", "policies"),
    ("policy", "explain", "--as", "guest", "--dir", "policies", "article.view"),
)
# Prints the CPU seconds of three calls in one process, after the import of the app.
CREATE_APP = """
import json, sys, time
spent = [time.process_time()]
from app import create_app
spent.append(time.process_time())
for _ in range(3):
    create_app({"instance": sys.argv[1], "run_jobs": "off"}).extensions["gatepost"].stop()
    spent.append(time.process_time())
print(json.dumps([after - before for before, after in zip(spent, spent[1:])]))
"""


def cpu_seconds(command: list[str], folder: Path, instance: Path) -> tuple[float, str]:
    """The CPU seconds of a process, and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "GATEPOST_INSTANCE": str(instance)}
    # Otherwise each process compiles every module.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def figures(folder: Path, instance: Path) -> Iterator[tuple[str, float]]:
    """One run of everything: the name of each figure, and its CPU seconds."""
    python, gatepost = folder / ".venv" / "bin" / "python", folder / ".venv" / "bin" / "gatepost"
    for arguments in COMMANDS:
        yield f"gatepost {' '.join(arguments)}", cpu_seconds([str(gatepost), *arguments], folder, instance)[0]
    _, printed = cpu_seconds([str(python), "-c", CREATE_APP, str(instance)], folder, instance)
    yield from zip(("import app", "create_app, the first", "create_app, the second", "create_app, the third"),
                   json.loads(printed), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--beside", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    folders = [ROOT, *([options.beside.resolve()] if options.beside else [])]
    measured: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory() as place:
        instances = [Path(place) / str(number) for number in range(len(folders))]
        for folder, instance in zip(folders, instances, strict=True):
            gatepost = str(folder / ".venv" / "bin" / "gatepost")
            cpu_seconds([gatepost, "init", "--no-demo"], folder, instance)
        for run in range(options.runs + 1):
            for number, (folder, instance) in enumerate(zip(folders, instances, strict=True)):
                for name, seconds in figures(folder, instance):
                    if run:
                        measured.setdefault(name, [[] for _ in folders])[number].append(seconds)
    beside = f"; then {folders[1]}, and the ratio" if options.beside else ""
    print(f"CPU seconds, median of {options.runs} runs{beside}")
    for name, of_folders in measured.items():
        medians = [statistics.median(each) for each in of_folders]
        ratio = f"  {medians[0] / medians[1]:.2f}" if options.beside else ""
        print(f"  {name:66}" + "".join(f"{median:7.2f}" for median in medians) + ratio)


if __name__ == "__main__":
    sys.exit(main())
