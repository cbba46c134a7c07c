"""`GET /api/{collection}/export`: every row of a list, streamed page by page in constant memory.

No transaction is held while the client reads; keyset pages neither skip nor repeat a row that is there throughout.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from flask import Response

from . import formats
from .call import Call, Endpoint
from .errors import Problem

if TYPE_CHECKING:
    from .collection import Collection

_CHUNK = 1000  # rows read at a time


def endpoint(collection: Collection) -> Endpoint:
    """The export of a collection; filters, `sort` and `fields` are those of its list."""

    def export(call: Call) -> Response:
        media_type = formats.NDJSON
        if "Accept" in call.request.headers:
            media_type = call.request.accept_mimetypes.best_match(formats.MEDIA_TYPES)
        if media_type is None:
            raise Problem("not_acceptable", f"There are {' and '.join(formats.MEDIA_TYPES)}.")
        chunks = collection.listing.everything(call, collection.permission("export"), _CHUNK)
        # What is wrong with the query must come as a problem document: read some rows before the answer begins.
        first = next(chunks, [])
        names = call.query.get("fields", collection.representation.names)
        body = formats.write(media_type, names, chain(first, _rest(call, chunks)))
        return Response(body, mimetype=media_type,
                        headers={"Content-Disposition": f'attachment; filename="{collection.name}"'})

    return Endpoint(name="export", method="GET", path=f"/api/{collection.name}/export",
                    permission=collection.permission("export"), handler=export, cost=10,
                    produces=formats.MEDIA_TYPES,
                    query=collection.listing.query.selection, summary="Every row, as NDJSON or CSV.")


def _rest(call: Call, chunks: Iterator[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    # The request's connection goes back to the pool when the handler returns: each chunk takes one for itself.
    while True:
        with call.services.database.connected():
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield from chunk
