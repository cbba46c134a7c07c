"""Line-by-line difference of two texts: removed lines, added lines, and a few lines around them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

AROUND = 3  # unchanged lines shown around the changed ones
MOST_COMPARED = 2_000  # lines from the first to the last difference; more are shown as one replacement
MOST_SHOWN = 1_000  # of one file
SAME, GONE, NEW, GAP = "same", "gone", "new", "gap"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a difference. `old` and `new` are its numbers, 0 where it is not; of a gap `left_out` lines."""

    kind: str
    old: int
    new: int
    text: str = ""
    left_out: int = 0


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, list[Line]]:
    """Returns name → difference of each file that differs."""
    names = sorted(before.keys() | after.keys())
    return {name: lines(before.get(name, ""), after.get(name, "")) for name in names
            if before.get(name) != after.get(name)}


def lines(before: str, after: str) -> list[Line]:
    """Returns the differences of two texts, with some lines around each; none if the texts are equal."""
    # As in an editor, only \n ends a line.
    old, new = ([] if not text else text.removesuffix("\n").split("\n") for text in (before, after))
    all_lines = [*_lines(old, new)]
    left_out = max(0, len(all_lines) - MOST_SHOWN)
    return [*all_lines[:MOST_SHOWN], *([Line(GAP, 0, 0, left_out=left_out)] if left_out else [])]


def _lines(old: list[str], new: list[str]) -> Iterator[Line]:
    for group in _groups(old, new):
        if group[0][1] or group[0][3]:
            yield Line(GAP, 0, 0)
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                for number in range(start, end):
                    yield Line(SAME, number + 1, new_start + number - start + 1, old[number])
                continue
            yield from (Line(GONE, number + 1, 0, old[number]) for number in range(start, end))
            yield from (Line(NEW, 0, number + 1, new[number]) for number in range(new_start, new_end))


def _groups(old: list[str], new: list[str]) -> Iterator[list[tuple[str, int, int, int, int]]]:
    """Groups the differences like `SequenceMatcher`, which is too slow for long texts with little in common."""
    first = next((number for number, (removed, added) in enumerate(zip(old, new, strict=False))
                  if removed != added),
                 min(len(old), len(new)))
    last = next((number for number, (removed, added) in enumerate(zip(reversed(old[first:]), reversed(new[first:]),
                                                                      strict=False)) if removed != added),
                min(len(old), len(new)) - first)
    end, new_end = len(old) - last, len(new) - last
    if first == end and first == new_end:
        return
    start, below = max(0, first - AROUND), min(last, AROUND)
    if end - first + new_end - first > MOST_COMPARED:
        yield [("equal", start, first, start, first), ("replace", first, end, first, new_end),
               ("equal", end, end + below, new_end, new_end + below)]
        return
    matcher = SequenceMatcher(None, old[start:end + below], new[start:new_end + below], autojunk=False)
    for group in matcher.get_grouped_opcodes(AROUND):
        yield [(kind, start + old_from, start + old_to, start + new_from, start + new_to)
               for kind, old_from, old_to, new_from, new_to in group]
