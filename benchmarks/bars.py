"""Rates as groups of bars in SVG: in each group the fastest is as long as the picture is wide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.plot import COLOURS, text

LEFT, WIDTH, RIGHT, BAR, GAP, TOP = 170, 480, 80, 13, 10, 60


def draw(title: str, names: Sequence[str], groups: Mapping[str, Mapping[str, float]]) -> str:
    """The picture as the text of an SVG file; `groups`: what was asked → contender → rate."""
    step = BAR * len(names) + GAP
    width, height = LEFT + WIDTH + RIGHT, TOP + step * len(groups) + GAP
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(width / 2, 20, title, size=15),
        *(part for number, name in enumerate(names) for part in _legend(name, number)),
        *(part for number, (group, rates) in enumerate(groups.items())
          for part in _group(group, names, rates, TOP + step * number)),
        "</svg>", ""])


def rate(value: float) -> str:
    """A rate as text, with as many digits as it deserves."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else "<0.1"


def _group(name: str, names: Sequence[str], rates: Mapping[str, float], top: float) -> Iterator[str]:
    yield text(LEFT - 8, top + BAR * len(names) / 2 + 4, name, anchor="end")
    most = max(rates.values())
    for number, one in enumerate(names):
        if one in rates:
            length, y = rates[one] / most * WIDTH, top + BAR * number
            yield f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{COLOURS[number]}"/>'
            yield text(LEFT + length + 5, y + 10, rate(rates[one]), anchor="start", size=11)


def _legend(name: str, number: int) -> Iterator[str]:
    x = LEFT + number * 130
    yield f'<rect x="{x}" y="34" width="12" height="12" fill="{COLOURS[number]}"/>'
    yield text(x + 18, 44, name, anchor="start")
