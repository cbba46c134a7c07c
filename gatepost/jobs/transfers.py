"""Kinds of jobs of imports and exports: one for each endpoint that a client may request as a job."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..http.request.endpoint import Endpoint
from . import exports, imports, requests

if TYPE_CHECKING:
    from flask import Flask

    from ..http.reading.listing import Listing
    from ..http.writing.writable import Writable
    from .task import Task, Work


def kinds(app: Flask, served: Iterable[tuple[Writable, Listing, Iterable[Endpoint]]]) -> dict[str, Work]:
    """Returns kind of job → the function that runs it, for the imports and exports of these collections."""
    functions: dict[str, Work] = {}
    for collection, listing, endpoints in served:
        for endpoint in endpoints:
            if endpoint.deferred is not None:
                kind = requests.kind_of(collection.name, endpoint)
                functions[kind] = _running(app, endpoint, collection, listing)
    return functions


def _running(app: Flask, endpoint: Endpoint, collection: Writable, listing: Listing) -> Work:
    def run(task: Task) -> None:
        with requests.resumed(app, task, endpoint) as call:
            if endpoint.writes:
                imports.run(task, call, collection)
            else:
                exports.run(task, call, listing)

    return run
