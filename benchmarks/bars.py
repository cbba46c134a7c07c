"""Rates as groups of bars in SVG: in each group the fastest is as long as the picture is wide.

The picture follows the reader's light or dark mode, and diffs as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

LEFT, WIDTH, RIGHT, BAR, GAP, TOP = 172, 500, 108, 14, 16, 92
MARGIN, LEGEND = 24, 128
# Colour-blind readers can distinguish them in both modes: shades of one hue, and another hue for the peer.
STYLE = """
  .paper { fill: #ffffff } .axis { stroke: #d0d7de }
  text, .ratio { fill: #1f2328 } text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
  .title { font-size: 18px; font-weight: 600 } .quiet { fill: #59636e } .ratio { font-weight: 600 }
  .bar0 { fill: #a5cbea } .bar1 { fill: #4f97d3 } .bar2 { fill: #0b5394 } .bar3 { fill: #e08a1e }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117 } .axis { stroke: #3d444d }
    text, .ratio { fill: #f0f6fc } .quiet { fill: #9198a1 }
    .bar0 { fill: #28527a } .bar1 { fill: #3f87c4 } .bar2 { fill: #8cc4f5 } .bar3 { fill: #e8a04a }
  }
"""


def draw(title: str, below: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """Returns the picture as the text of an SVG file.

    `groups`: what was asked → contender → rate; up to four contenders, in the same order everywhere. Where the last one
    has a rate, each rate is followed by its ratio to that.
    """
    names = list(max(groups.values(), key=len))
    step = BAR * len(names) + GAP
    width, height = LEFT + WIDTH + RIGHT, TOP + step * len(groups) + GAP // 2
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
        _text(MARGIN, 34, title, "title"),
        _text(MARGIN, 54, f"{below}; beside each rate its ratio to {names[-1]}", "quiet"),
        *(part for number, name in enumerate(names) for part in _legend(name, number)),
        *(part for number, (group, rates) in enumerate(groups.items())
          for part in _group(group, names, rates, TOP + step * number)),
        f'<path class="axis" d="M{LEFT} {TOP - 4}V{height - GAP}"/>',
        "</svg>", ""])


def rate(value: float) -> str:
    """Returns a rate as text with a suitable number of digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}" if value >= 0.1 else "<0.1"


def _group(name: str, names: Sequence[str], rates: Mapping[str, float], top: float) -> Iterator[str]:
    yield _text(LEFT - 12, top + BAR * len(names) / 2 + 4, name, anchor="end")
    most, reference = max(rates.values()), rates.get(names[-1])
    for number, one in enumerate(names):
        if one in rates:
            length, y = max(rates[one] / most * WIDTH, 1), top + BAR * number
            yield f'<rect class="bar{number}" x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" rx="2"/>'
            ratio = f'<tspan class="ratio" dx="6">{_ratio(rates[one] / reference)}</tspan>' if (
                reference and one != names[-1]) else ""
            yield _text(LEFT + length + 6, y + 10, rate(rates[one]), "quiet", after=ratio)


def _ratio(value: float) -> str:
    return f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×" if value >= 1 else f"{value:.2f}×"


def _legend(name: str, number: int) -> Iterator[str]:
    x = LEFT + number * LEGEND
    yield f'<rect class="bar{number}" x="{x}" y="68" width="12" height="12" rx="2"/>'
    yield _text(x + 18, 78, name)


def _text(x: float, y: float, words: str, kind: str = "", *, anchor: str = "start", after: str = "") -> str:
    return (f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f"{escape(words)}{after}</text>")
