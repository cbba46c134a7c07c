"""The matrix as one HTML page: self-contained, printable, light or dark as the screen is.

No script and nothing from the network: the page can be mailed, kept and opened years later. It is made from
templates/matrix.html.
"""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

from ..evaluation.grants import ALWAYS_WORD
from .matrix import Matrix

_TEMPLATES = Environment(loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined,
                         trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)


def as_html(table: Matrix) -> str:
    """The whole page. Every text from the policy is escaped."""
    conditions = [(name, source) for name, source in table.conditions if name != ALWAYS_WORD]
    return _TEMPLATES.get_template("matrix.html").render(table=table, conditions=conditions)
