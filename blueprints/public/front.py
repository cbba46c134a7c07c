"""The front page `/`: links for readers and programs, as a page or as JSON."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from flask import Response

from gatepost.collections.rendering import render
from gatepost.http.pipeline.browsers import page_headers


class Link(NamedTuple):
    """A link: `name` is for programs, `title` and `about` are for readers."""

    name: str
    path: str
    title: str
    about: str


DOCUMENTATION = Link("documentation", "/docs", "Documentation", "Every operation, to read and to try.")
DESCRIPTION = Link("openapi", "/api/openapi.json", "Description", "The same as OpenAPI 3.1, for tools.")
HEALTH = Link("health", "/api/health", "Health", "Whether the service can do its work.")


def links(root: str, *, docs: bool) -> tuple[Link, ...]:
    """Lists the links, with paths below `root`; `docs` is the setting of that name."""
    return tuple(link._replace(path=root + link.path)
                 for link in ((DOCUMENTATION, DESCRIPTION, HEALTH) if docs else (HEALTH,)))


def page(links_of_page: tuple[Link, ...]) -> Response:
    """Renders the links as a page without scripts, with its style sheet included."""
    text, headers = _page(links_of_page)
    return Response(text, content_type="text/html; charset=utf-8", headers=headers)


@cache
def _page(links_of_page: tuple[Link, ...]) -> tuple[str, dict[str, str]]:
    """Returns the page, and headers that allow only its own style sheet."""
    text = render("root.html", links=links_of_page)
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return text, page_headers(style_src=f"'sha256-{digest}'", img_src="data:")
