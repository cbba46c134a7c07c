"""Rendering of HTML pages from `templates/`. Every value is escaped."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined

_TEMPLATES = Environment(loader=PackageLoader(__package__), autoescape=True, undefined=StrictUndefined,
                         trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)


def render(template: str, **values: object) -> str:
    """Renders a template. Raises `jinja2.UndefinedError` for a value that the template names and the caller omits."""
    return _TEMPLATES.get_template(template).render(values)
