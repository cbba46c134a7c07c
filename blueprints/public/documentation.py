"""The pages `/docs`, to read and try the API, and `/docs/errors`. They load only files of the package."""

from __future__ import annotations

from importlib.resources import files

from flask import Response

from gatepost.collections.rendering import render
from gatepost.http.pipeline.browsers import page_headers
from gatepost.http.protocol.problems import CATALOGUE, Problem

_ASSETS = files("gatepost.collections").joinpath("static", "docs")
_CATALOGUE_HEADERS = page_headers(style_src="'self'", img_src="data:")
# RapiDoc creates style sheets at run time, so their hashes are unknown. Scripts come only from the package.
_PAGE_HEADERS = page_headers(script_src="'self'", style_src="'self' 'unsafe-inline'", connect_src="'self'",
                             img_src="data:")
_HTML = "text/html; charset=utf-8"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
          ".txt": "text/plain; charset=utf-8"}


def documentation_page(base: str, first: str) -> Response:
    """Renders the page with first commands and all operations.

    `base` is the URL of the service in the commands, `first` their collection. The links are relative, so the page
    works at any path.
    """
    return Response(render("docs.html", base=base, first=first), content_type=_HTML, headers=_PAGE_HEADERS)


def documentation_file(name: str) -> Response:
    """Returns a file of the documentation page. Raises `Problem` (`not_found`)."""
    asset = next((file for file in _ASSETS.iterdir() if file.name == name), None)
    suffix = name[name.rfind("."):]
    if asset is None or suffix not in _TYPES:
        raise Problem("not_found")
    return Response(asset.read_bytes(), content_type=_TYPES[suffix], headers=_PAGE_HEADERS)


def error_catalogue() -> Response:
    """Renders the page of all error codes. The `type` of a problem document links to it."""
    return Response(render("errors.html", catalogue=CATALOGUE), content_type=_HTML, headers=_CATALOGUE_HEADERS)
