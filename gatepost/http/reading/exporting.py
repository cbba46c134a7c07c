"""`GET /api/{collection}/export`: every row of a list, streamed page by page in constant memory.

No transaction is held while the client reads; keyset pages neither skip nor repeat a row that is there throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flask import Request, Response

from ..protocol.language import PARAMETER
from ..protocol.problems import not_acceptable
from ..request import audit
from ..request.call import Call
from ..request.endpoint import Endpoint
from ..schemas import file_formats
from . import long_answers
from .listing import Listing

_AT_ONCE = 250  # rows read at a time: they may be long, and all of them are in memory
_OTHERS = ("fields", "sort", PARAMETER)  # parameters that do not select rows
_EXTENSIONS = {file_formats.NDJSON: "ndjson", file_formats.CSV: "csv"}


def endpoint(listing: Listing) -> Endpoint:
    """The export of a collection; filters, `sort` and `fields` are those of its list."""
    collection = listing.collection

    def export(call: Call) -> Response:
        media_type = wanted(call.request)
        noted = audit.Export(call, filters(call))
        headers = {"Content-Disposition": disposition(collection.name, media_type), "Vary": "Accept"}
        response = long_answers.answer(call, lambda: content(listing, call, media_type, noted.count),
                                       mimetype=media_type, headers=headers)
        # Also where the client goes away meanwhile: what was handed out until then.
        response.call_on_close(noted.note)
        return response

    return Endpoint(name="export", method="GET", path=f"/api/{collection.name}/export",
                    permission=collection.permission("export"), handler=export, narrows=True, cost=10,
                    produces=file_formats.MEDIA_TYPES, carries=("Content-Disposition",),
                    query=listing.query.export_schema,
                    summary=f"Export {collection.name}: every row, as NDJSON or CSV.")


def content(listing: Listing, call: Call, media_type: str,
            progress: Callable[[int], object]) -> Iterator[bytes]:
    """The file: every row that `call.query` selects and the caller may view and export, as chunks of bytes.

    `progress` is told, now and then, how many rows are about to be handed out.
    """
    collection = listing.collection
    chunks = listing.everything(call, collection.permission("export"), _AT_ONCE)
    # What is wrong with the query must come as a problem document: read some rows before the answer begins.
    first = next(chunks, [])
    names = dict.fromkeys([*call.query.get("fields", collection.representation.names), *call.query.get("expand", ())])
    return file_formats.write(media_type, list(names), _rows(call, first, chunks, progress))


def _rows(call: Call, chunk: list[dict[str, Any]], chunks: Iterator[list[dict[str, Any]]],
          progress: Callable[[int], object]) -> Iterator[dict[str, Any]]:
    while chunk:
        progress(len(chunk))
        yield from chunk
        # The request's connection is given back when the handler returns: each chunk takes one for itself.
        with call.services.database.connected():
            chunk = next(chunks, [])


def disposition(name: str, media_type: str) -> str:
    """The `Content-Disposition` of a file of these rows."""
    return f'attachment; filename="{name}.{_EXTENSIONS[media_type]}"'


def filters(call: Call) -> dict[str, str]:
    """Returns the query parameters that select the rows, as the client sent them."""
    return {name: text for name, text in call.query.sent if name not in _OTHERS}


def wanted(request: Request) -> str:
    """The media type that suits the client best; NDJSON when it does not say. Raises `Problem`."""
    if not request.accept_mimetypes:
        return file_formats.NDJSON
    found = request.accept_mimetypes.best_match((*file_formats.MEDIA_TYPES, f"{file_formats.CSV}; charset=utf-8"))
    if found is None:
        raise not_acceptable(file_formats.MEDIA_TYPES)
    return found.partition(";")[0]
