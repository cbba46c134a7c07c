"""The pages `/docs`, where the API is read and tried, and `/docs/errors`: files of the package, nothing of any other
host."""

from __future__ import annotations

from importlib.resources import files

from flask import Response

from gatepost.collections.rendering import render
from gatepost.http.pipeline.browsers import page_headers
from gatepost.http.protocol.problems import CATALOGUE, Problem

_ASSETS = files("gatepost.collections").joinpath("static", "docs")
_CATALOGUE_HEADERS = page_headers(style_src="'self'", img_src="data:")
# RapiDoc makes style sheets as it goes, so that no hash can name them. Scripts are those of the package alone.
_PAGE_HEADERS = page_headers(script_src="'self'", style_src="'self' 'unsafe-inline'", connect_src="'self'",
                             img_src="data:")
_HTML = "text/html; charset=utf-8"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
          ".txt": "text/plain; charset=utf-8"}


def documentation_page(base: str, first: str) -> Response:
    """Draws how to log in and try, then every operation. `base` is the URL of the service in the commands to copy,
    `first` the collection that they ask for.

    The links are relative, so that the page works below any path.
    """
    return Response(render("docs.html", base=base, first=first), content_type=_HTML, headers=_PAGE_HEADERS)


def documentation_file(name: str) -> Response:
    """A file of the documentation page. Raises `Problem` (`not_found`)."""
    found = next((file for file in _ASSETS.iterdir() if file.name == name), None)
    suffix = name[name.rfind("."):]
    if found is None or suffix not in _TYPES:
        raise Problem("not_found")
    return Response(found.read_bytes(), content_type=_TYPES[suffix], headers=_PAGE_HEADERS)


def error_catalogue() -> Response:
    """Every error code with its status, as one page: what `type` in a problem document leads to."""
    return Response(render("errors.html", catalogue=CATALOGUE), content_type=_HTML, headers=_CATALOGUE_HEADERS)
