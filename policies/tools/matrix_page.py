"""The matrix as one HTML page: self-contained, read at a glance, printable, light or dark as the screen is.

No script and nothing from the network: the page can be mailed, kept and opened years later.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ..evaluation.grants import ALWAYS_WORD, Grant
from .matrix import Matrix, Section

_STYLE = """
:root { color-scheme: light dark;
  --ink: #1c2430; --soft: #667085; --page: #fbfbf9; --card: #fff; --line: #e6e6e0; --yes: #1a7f4b;
  --yes-tint: #e3f4ea; --if: #8a5a00; --if-tint: #fdf1d8; --no: #b42318; --no-tint: #fde7e4; }
@media (prefers-color-scheme: dark) { :root {
  --ink: #e8eaee; --soft: #98a2b3; --page: #14171c; --card: #1b1f26;
  --line: #2b313b; --yes: #6fd6a0; --yes-tint: #173527; --if: #f2c063; --if-tint: #3a2d12; --no: #ff9c91;
  --no-tint: #431e1a; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2.5rem clamp(1rem, 4vw, 4rem) 4rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { margin: 0; font-size: 1.7rem; letter-spacing: -.02em; }
h2 { margin: 2.5rem 0 .6rem; font-size: 1.05rem; }
.intro { margin: .35rem 0 1.5rem; color: var(--soft); max-width: 46rem; }
code { font: .86em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.legend { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; margin: 0 0 1rem; padding: 0; list-style: none;
  color: var(--soft); }
.table { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; }
thead th { position: sticky; top: 0; z-index: 2; background: var(--card);
  border-bottom: 2px solid var(--line); padding: .8rem .4rem; font-weight: 600; text-align: center; }
thead th:first-child { border-top-left-radius: 12px; } thead th:last-child { border-top-right-radius: 12px; }
tbody th { text-align: left; font-weight: 400; padding: .3rem 1rem; white-space: nowrap; }
tbody td { text-align: center; padding: .3rem .4rem; border-left: 1px solid var(--line); }
tbody tr:hover > * { background: color-mix(in srgb, var(--ink) 5%, transparent); }
tr.resource th { padding: 1.1rem 1rem .35rem; font-weight: 650; border-top: 1px solid var(--line); }
tbody:first-of-type tr.resource th { border-top: 0; }
.mark { display: inline-block; min-width: 1.5rem; padding: 0 .5rem; border-radius: 999px; font-size: .8rem;
  line-height: 1.5rem; white-space: nowrap; cursor: help; }
.mark + .mark { margin-top: .15rem; }
.yes { background: var(--yes-tint); color: var(--yes); } .if { background: var(--if-tint); color: var(--if); }
.no { background: var(--no-tint); color: var(--no); } .never { color: var(--line); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.25rem; margin: 0; }
dt, dd { margin: 0; } dd { overflow-wrap: anywhere; }
@media (max-width: 60rem) { .table { overflow-x: auto; } thead th { position: static; }
  tbody th { position: sticky; left: 0; background: var(--card); } }
@media print { body { padding: 0; font-size: 9pt; } thead th { position: static; }
  tr { break-inside: avoid; } }
"""


def as_html(table: Matrix) -> str:
    """The whole page. Every text from the policy is escaped."""
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>Who may do what · {escape(table.version)}</title>\n<style>{_STYLE}</style>",
            "</head>\n<body>",
            "<h1>Who may do what</h1>",
            '<p class="intro">Every permission and every role, as the policy '
            f"<code>{escape(table.version)}</code> grants it, inherited lines included. "
            "Point at a mark to see the lines that say so.</p>",
            '<ul class="legend"><li><span class="mark yes">✓</span> always</li>'
            '<li><span class="mark if">own</span> on this condition</li>'
            '<li><span class="mark no">not …</span> denied on this condition</li>'
            '<li><span class="never">·</span> never</li></ul>',
            '<div class="table"><table>',
            *_head(table),
            *(line for section in table.sections for line in _body(section, table)),
            "</table></div>",
            *_persons(table),
            *_conditions(table),
            *_scopes(table),
            "</body>\n</html>\n",
        ]
    )


def _head(table: Matrix) -> Iterator[str]:
    columns = "".join(f'<th scope="col">{escape(column)}</th>' for column in table.columns)
    yield f'<thead><tr><th scope="col"><span hidden>permission</span></th>{columns}</tr></thead>'


def _body(section: Section, table: Matrix) -> Iterator[str]:
    yield "<tbody>"
    yield (
        f'<tr class="resource"><th scope="rowgroup" colspan="{len(table.columns) + 1}">'
        f"{escape(section.resource)}</th></tr>"
    )
    for row in section.rows:
        action = escape(row.permission.partition(".")[2])
        cells = "".join(
            f'<td title="{escape(_title(role, row.permission, cell))}">{_cell(cell)}</td>'
            for role, cell in zip(table.columns, row.grants, strict=True)
        )
        yield f'<tr><th scope="row">{action}</th>{cells}</tr>'
    yield "</tbody>"


def _cell(cell: Grant) -> str:
    if not cell.places:
        return '<span class="never" aria-label="never">·</span>'
    marks = ['<span class="mark yes" aria-label="always">✓</span>'
             if word == ALWAYS_WORD else f'<span class="mark if">{escape(word)}</span>'
             for word in dict.fromkeys(part.word for part in cell.allows)]  # fmt: skip
    marks += [
        f'<span class="mark no">not {escape(word)}</span>'
        for word in dict.fromkeys(part.word for part in cell.denies)
    ]
    return "<br>".join(marks)


def _title(role: str, permission: str, cell: Grant) -> str:
    if not cell:
        return f"{role} may never {permission}"
    return f"{role} may {permission}: {cell.words}\n{', '.join(cell.places)}"


def _persons(table: Matrix) -> Iterator[str]:
    for person, grants in table.persons.items():
        yield f"<h2>{escape(person)}, besides what the role gives</h2>"
        yield "<dl>"
        for permission, found in grants.items():
            where = escape(", ".join(found.places))
            yield f'<dt>{escape(permission)}</dt><dd title="{where}">{_cell(found)}</dd>'
        yield "</dl>"


def _conditions(table: Matrix) -> Iterator[str]:
    conditions = [(name, source) for name, source in table.conditions if name != ALWAYS_WORD]
    if conditions:
        yield "<h2>What the conditions mean</h2>"
        yield from _terms((name, "if", f"<code>{escape(source)}</code>") for name, source in conditions)


def _scopes(table: Matrix) -> Iterator[str]:
    if table.scopes:
        yield "<h2>What the scopes of tokens cover, as far as their owner may do it</h2>"
        yield from _terms((scope, "", escape(", ".join(covered))) for scope, covered in table.scopes)


def _terms(terms: Iterator[tuple[str, str, str]]) -> Iterator[str]:
    yield "<dl>"
    for name, kind, text in terms:
        shown = f'<span class="mark {kind}">{escape(name)}</span>' if kind else f"<code>{escape(name)}</code>"
        yield f"<dt>{shown}</dt><dd>{text}</dd>"
    yield "</dl>"
