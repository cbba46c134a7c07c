"""A line chart with two logarithmic axes as SVG, so that a picture needs no library and diffs as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT, MARGIN, LEGEND = 380, 260, 60, 20
# Okabe and Ito's palette, which colour-blind readers can distinguish.
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


@dataclass(frozen=True)
class Line:
    """Points (x, y), both above zero. Lines that differ in `dashed` only share a colour."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One chart of a picture. All panels have the same lines, in the same order, and the same axes."""

    title: str
    lines: Sequence[Line]


def draw(title: str, x: str, y: str, panels: Sequence[Panel]) -> str:
    """The picture as the text of an SVG file."""
    names = [line.name for line in panels[0].lines]
    width = len(panels) * (WIDTH + MARGIN) + MARGIN
    height = HEIGHT + 2 * MARGIN + LEGEND * len(names)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(width / 2, 20, title, size=15),
        *(part for number, panel in enumerate(panels) for part in _panel(panel, number, x, y, _range(panels))),
        *(part for number, line in enumerate(panels[0].lines) for part in _legend(line, number)),
        "</svg>", ""])


def _range(panels: Sequence[Panel]) -> tuple[int, int, int, int]:
    """The decades that hold every point: from and to, of x and of y."""
    points = [point for panel in panels for line in panel.lines for point in line.points]
    xs, ys = ([log10(point[axis]) for point in points] for axis in (0, 1))
    return *_decades(xs), *_decades(ys)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    lowest = floor(min(values))
    return lowest, max(ceil(max(values)), lowest + 1)


def _panel(panel: Panel, number: int, x: str, y: str, decades: tuple[int, int, int, int]) -> Iterator[str]:
    left, top = MARGIN + number * (WIDTH + MARGIN), MARGIN
    x0, x1, y0, y1 = decades

    def across(value: float) -> float:
        return left + (value - x0) / (x1 - x0) * WIDTH

    def down(value: float) -> float:
        return top + HEIGHT - (value - y0) / (y1 - y0) * HEIGHT

    yield text(left + WIDTH / 2, top - 10, panel.title)
    yield f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888"/>'
    for decade in range(x0, x1 + 1):
        yield text(across(decade), top + HEIGHT + 16, f"{10 ** decade:,}")
    for decade in range(y0, y1 + 1):
        yield f'<path d="M{left} {down(decade):.1f}h{WIDTH}" stroke="#ddd"/>'
        yield text(left - 4, down(decade) + 4, f"{10 ** decade:,}", anchor="end")
    yield text(left + WIDTH / 2, top + HEIGHT + 34, x)
    if number == 0:
        yield text(left, top - 10, y, anchor="start")
    for index, line in enumerate(panel.lines):
        path = "L".join(f"{across(log10(px)):.1f} {down(log10(py)):.1f}" for px, py in line.points)
        yield f'<path d="M{path}" fill="none" stroke-width="2" {_stroke(line, index)}/>'


def _legend(line: Line, number: int) -> Iterator[str]:
    y = HEIGHT + 2 * MARGIN + LEGEND * number
    yield f'<path d="M{MARGIN} {y}h40" stroke-width="2" {_stroke(line, number)}/>'
    yield text(MARGIN + 50, y + 4, line.name, anchor="start")


def _stroke(line: Line, number: int) -> str:
    return f'stroke="{COLOURS[number % len(COLOURS)]}"' + (' stroke-dasharray="5 4"' if line.dashed else "")


def text(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 12) -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'
