"""Other costs of a policy, by its length: the first login on it, loading, and each tool that an administrator runs.

    python -m benchmarks.policy_size

The figures are milliseconds of processor time; those of one decision and one plan are µs. The three policies are the
shipped one; 5 000 rules, which are the shipped ones and ten for each of 500 users; and 5 000 rules over hundreds of
resources, nine tenths of them for roles. The first login evaluates every permission of a user whom rules name, on a
policy just loaded. The next one does so for another such user.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from click.testing import CliRunner, Result

from benchmarks.long_policy import lengthen
from benchmarks.policy import NOON, files_of, median
from blueprints.policy.commands.check import check
from gatepost.commands import policy_files
from policies import SHIPPED, Policy, Principal
from policies.cases.case_file import failures
from policies.cases.cases import Coverage, run
from policies.lint.warnings import warnings
from policies.loading.folder import Folder
from policies.loading.loader import CASES_FILE, from_files, read_files
from policies.loading.watch import Watcher
from policies.questions.diff import diff
from policies.syntax.model import MODEL_FILE
from policies.syntax.vocabulary import Vocabulary
from policies.tools.matrix import matrix

LINES, PERSONS = 5000, 500
Files = dict[str, bytes]


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    begun = time.process_time()
    work()
    return (time.process_time() - begun) * 1e3


def policies() -> dict[str, tuple[Files, Vocabulary]]:
    """The three policies, by what to call them."""
    shipped = dict(policy_files.shipped_policy().files)
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in shipped.items():
            (Path(scratch) / name).write_bytes(content)
        lengthen(Path(scratch), LINES, PERSONS)
        long = read_files(Path(scratch), {}, [])
    vocabulary = policy_files.registry().vocabulary
    return {"shipped": (shipped, vocabulary), "persons": (long, vocabulary), "roles": files_of(LINES)}


def principal(policy: Policy, number: int) -> Principal:
    """The user whom the rule of this number names; under the shipped policy, which names none, any user."""
    named = [rule.sub for rule in policy.rules if rule.sub not in policy.roles]
    key = named[number * len(named) // 10] if named else f"user:{number}"
    return Principal(key.removeprefix("user:"), key, "user", "t", "press")


def login(policy: Policy, who: Principal) -> float:
    return timed(lambda: [policy.may_ever(who, name, NOON) for name in policy.vocabulary.by_permission])


def measured(files: Files, vocabulary: Vocabulary) -> dict[str, float]:
    """Each figure by its name."""
    figures: dict[str, float] = {}
    loaded: list[Policy] = []
    figures["load"] = timed(lambda: loaded.append(from_files(files, vocabulary)))
    policy, other = loaded[0], from_files(_changed(files), vocabulary)
    figures["first login"] = login(policy, principal(policy, 1))
    figures["next login"] = login(policy, principal(policy, 5))
    figures["login again"] = login(policy, principal(policy, 1))
    me = principal(policy, 2)
    mine = vocabulary.resources["article"].row(owner_id=me.id, status="draft")
    figures["decide µs"] = median(lambda: policy.decide(me, "article.update", mine, NOON), 7, 5000)
    figures["plan µs"] = median(lambda: policy.plan(me, "article.update", NOON), 7, 5000)
    if "articles.csv" in files:
        suite = policy_files.suite(SHIPPED / CASES_FILE, policy)
        fresh = from_files(files, vocabulary)
        figures["cases"] = timed(lambda: run(fresh, suite))
        figures["coverage"] = timed(lambda: run(fresh, suite, Coverage(fresh)))
        figures["reload"] = _reloaded(files, vocabulary)
        figures["check"] = _checked(files)
    otherwise = from_files(redefined(files), vocabulary)
    tools = (("lint", warnings), ("matrix", matrix), ("diff", partial(diff, other)),
             ("diff of own", partial(diff, otherwise)))
    for name, tool in tools:
        figures[name] = timed(partial(tool, from_files(files, vocabulary)))
    return figures


def _checked(files: Files) -> float:
    """`gatepost policy check`: files read and parsed, invariants proved, warnings, the shipped cases."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in {**files, CASES_FILE: (SHIPPED / CASES_FILE).read_bytes()}.items():
            (Path(scratch) / name).write_bytes(content)
        outcomes: list[Result] = []
        taken = timed(lambda: outcomes.append(CliRunner().invoke(check, [scratch])))
    if outcomes[0].exit_code:
        raise SystemExit(outcomes[0].output)
    return taken


def _reloaded(files: Files, vocabulary: Vocabulary) -> float:
    """Measures the reload of a running service: every check, the invariants, a comparison with Casbin on a sample for
    0.2 s, and the shipped cases."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, content in {**files, CASES_FILE: (SHIPPED / CASES_FILE).read_bytes()}.items():
            (Path(scratch) / name).write_bytes(content)
        watcher = Watcher(Folder(Path(scratch), vocabulary, cases=failures))
        taken = timed(watcher.reload)
    if watcher.status.error:
        raise SystemExit(watcher.status.error)
    return taken


def _changed(files: Files) -> Files:
    """The same policy without one of its rules: the last of the longest file."""
    name = _longest(files)
    lines = files[name].splitlines(keepends=True)
    taken = max(number for number, line in enumerate(lines) if line.startswith(b"p,"))
    return {**files, name: b"".join(lines[:taken] + lines[taken + 1:])}


def redefined(files: Files) -> Files:
    """The same policy with `own` in the daytime alone."""
    mine = b"r.obj.owner_id == r.sub.id"
    return {**files, MODEL_FILE: files[MODEL_FILE].replace(mine, mine + b" && r.env.hour < 20", 1)}


def _longest(files: Files) -> str:
    """The name of the file with most rules."""
    return max(files, key=lambda name: files[name].count(b"\np,"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="how often; the medians are printed")
    rounds = parser.parse_args().rounds
    found = {name: [measured(*one) for _ in range(rounds)] for name, one in policies().items()}
    print(f"{'':14}" + "".join(f"{name:>10}" for name in found))
    for figure in found["shipped"][0]:
        medians = (statistics.median(one[figure] for one in each) if figure in each[0] else None
                   for each in found.values())
        print(f"{figure:14}" + "".join(f"{'–':>10}" if one is None else f"{one:>10.2f}" for one in medians))


if __name__ == "__main__":
    main()
