"""Export of all rows of a list: `GET /api/{collection}/export`, streamed page by page in constant memory.

No transaction is open while the client reads. Keyset pages neither skip nor repeat a row that exists throughout.
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

_AT_ONCE = 250  # rows read at a time; they may be long, and all are in memory
_OTHERS = ("fields", "sort", PARAMETER)  # parameters that do not select rows
_EXTENSIONS = {file_formats.NDJSON: "ndjson", file_formats.CSV: "csv"}


def endpoint(listing: Listing) -> Endpoint:
    """Returns the export endpoint of a collection; filters, `sort` and `fields` are those of its list."""
    collection = listing.collection

    def export(call: Call) -> Response:
        media_type = media_type_of(call.request)
        event = audit.Export(call, filters(call))
        headers = {"Content-Disposition": disposition(collection.name, media_type), "Vary": "Accept"}
        response = long_answers.answer(call, lambda: content(listing, call, media_type, event.count),
                                       mimetype=media_type, headers=headers)
        # Also if the client disconnects: then with the rows sent so far.
        response.call_on_close(event.note)
        return response

    return Endpoint(name="export", method="GET", path=f"/api/{collection.name}/export",
                    permission=collection.permission("export"), handler=export, narrows=True, cost=10,
                    produces=file_formats.MEDIA_TYPES, carries=("Content-Disposition",),
                    query=listing.query.export_schema,
                    summary=f"Export {collection.name}: every row, as NDJSON or CSV.")


def content(listing: Listing, call: Call, media_type: str,
            progress: Callable[[int], object]) -> Iterator[bytes]:
    """Returns the file as chunks of bytes: all rows of `call.query` that the caller may view and export.

    `progress` is called with the number of rows that are about to be sent.
    """
    collection = listing.collection
    chunks = listing.everything(call, collection.permission("export"), _AT_ONCE)
    # An error in the query must become a problem document: read some rows before the answer begins.
    first = next(chunks, [])
    names = dict.fromkeys([*call.query.get("fields", collection.representation.names), *call.query.get("expand", ())])
    return file_formats.write(media_type, list(names), _rows(call, first, chunks, progress))


def _rows(call: Call, chunk: list[dict[str, Any]], chunks: Iterator[list[dict[str, Any]]],
          progress: Callable[[int], object]) -> Iterator[dict[str, Any]]:
    while chunk:
        progress(len(chunk))
        yield from chunk
        # The handler's connection is returned when it ends, so each chunk takes its own.
        with call.services.database.connected():
            chunk = next(chunks, [])


def disposition(name: str, media_type: str) -> str:
    """Returns the `Content-Disposition` of a file of these rows."""
    return f'attachment; filename="{name}.{_EXTENSIONS[media_type]}"'


def filters(call: Call) -> dict[str, str]:
    """Returns the query parameters that select the rows, as the client sent them."""
    return {name: text for name, text in call.query.sent if name not in _OTHERS}


def media_type_of(request: Request) -> str:
    """Returns the media type that the client prefers; NDJSON by default. Raises `Problem`."""
    if not request.accept_mimetypes:
        return file_formats.NDJSON
    preferred = request.accept_mimetypes.best_match((*file_formats.MEDIA_TYPES, f"{file_formats.CSV}; charset=utf-8"))
    if preferred is None:
        raise not_acceptable(file_formats.MEDIA_TYPES)
    return preferred.partition(";")[0]
