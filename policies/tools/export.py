"""The policy as one stock model, one CSV and the functions that it calls, for the Casbin editor or another tool.

Nothing is translated: the files are stock Casbin already, so it is enough to join them in one order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..invariants.lines import INVARIANTS_FILE
from ..loading.files import Unreadable, read_text
from ..syntax.model import MODEL_FILE
from ..syntax.vocabulary import Function
from ..wording.finding import Finding, PolicyError

# What stock Casbin answers otherwise than Gatepost does.
MISSING = """\
# A value that is missing matches nothing in Gatepost. In the Casbin editor leave its key out, never write null; there
# == holds all the same where both sides are missing, and != where one is. In pycasbin None would match None: give it,
# for what is missing, an object whose comparisons are all false.
"""
# The editor evaluates this text, and gives Casbin what is in `functions`. `shared` and those of plugins ask what a
# request of the editor does not hold, so that their answer is the reader's to choose. Casbin hands a function its
# arguments alone, so that the clock is beside the functions: who decides at another time sets `clock.now`.
_FUNCTIONS = """\
(function () {
  // The time for olderThan and youngerThan: that of this computer. Gatepost takes r.env.now. To try the time of a
  // request, write the same time here: () => '2026-11-18T10:30:00.000000Z'
  const clock = { now: () => new Date().toISOString().replace('Z', '000Z') };
  // The time that lies a duration such as 'P90D' before now.
  const ago = (duration) => {
    const now = clock.now();
    if (now == null) return undefined;
    const numbers = /^P(?:(\\d+)W)?(?:(\\d+)D)?(?:T(?:(\\d+)H)?(?:(\\d+)M)?(?:(\\d+)S)?)?$/.exec(duration).slice(1);
    const seconds = [604800, 86400, 3600, 60, 1].reduce((sum, unit, i) => sum + unit * Number(numbers[i] || 0), 0);
    const time = Date.parse(now.slice(0, 19) + 'Z') - 1000 * seconds;
    const first = '0001-01-01T00:00:00.000000Z';
    return time < Date.parse(first) ? first : new Date(time).toISOString().slice(0, 19) + now.slice(19);
  };
  return {
    clock,
    functions: {
      // Whether a share gives the permission on the object: only Gatepost's database knows. Write what to try.
      shared: (sub, obj, act) => false,
      // The groups of a caller are a list: {role: 'user', groups: ['atlas']}. The name can have two parts.
      inGroup: (sub, ...name) => name.every((part) => part != null) && (sub.groups || []).includes(name.join('')),
      // Whether a time lies more, or less, than a duration before now.
      olderThan: (time, duration) => time < ago(duration),
      youngerThan: (time, duration) => time > ago(duration),
%s    },
  };
})();
"""
_OF_PLUGIN = """\
      // A plugin's, which looks at %s. Write what to try.
      %s: (%s) => false,
"""


@dataclass(frozen=True, slots=True)
class Export:
    """Texts for the editor's panes: *Model*, *Policy*, and *Custom config*, which takes `functions`."""

    model: str
    policy: str
    functions: str


# How plain Casbin decides permissions that no rule names.
_FALLBACKS = """\
# No rule names these permissions. Each is decided like another one: these lines are copies of the lines about that.
"""


def export(directory: Path, plugins: Mapping[str, Path] | None = None, functions: Iterable[Function] = (),
           fallback_lines: Iterable[object] = ()) -> Export:
    """Join the files of `directory` and the CSVs that plugins bring (file name → path), without the invariants: they
    give nothing, and Casbin knows no such lines. `functions` are those of plugins, `fallback_lines` the policy's.

    A file of the same name in `directory` replaces a plugin's. Raises PolicyError when a file cannot be read.
    """
    files = {path.name: path for path in directory.glob("*.csv") if path.name != INVARIANTS_FILE}
    for name, path in (plugins or {}).items():
        files.setdefault(name, path)
    sections = [f"# {name}\n" + "\n".join(_lines(path)) for name, path in sorted(files.items())]
    if copies := "\n".join(map(str, fallback_lines)):
        sections.append(_FALLBACKS + copies)
    model = _text(directory / MODEL_FILE)
    kept = [line.rstrip() for line in model.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return Export("\n".join(kept) + "\n", MISSING + "\n" + "\n\n".join(sections) + "\n",
                  _FUNCTIONS % "".join(_stub(function) for function in functions))


def _stub(function: Function) -> str:
    read = ", ".join(f"r.{root}.{name}" for root, name in function.reads)
    literals = (f"literal{number}" for number in range(1, len(function.literals) + 1))
    return _OF_PLUGIN % (read, function.name, ", ".join(("sub", "obj", "env", *literals)))


def _lines(path: Path) -> list[str]:
    """The lines that say something, with columns one space apart."""
    lines = (line.strip() for line in _text(path).splitlines())
    return [
        ", ".join(column.strip() for column in line.split(","))
        for line in lines
        if line and not line.startswith("#")
    ]


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except Unreadable as error:
        raise PolicyError([Finding(path.name, 0, str(error))]) from None
