"""Which representation a client takes (RFC 9110 section 12.5.1): data is JSON here, and next to nothing else."""

from __future__ import annotations

from functools import lru_cache

from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header

from ..protocol.messages import Message
from ..protocol.problems import Problem
from ..request.call import Call

JSON, HTML = "application/json", "text/html"


def check(call: Call) -> None:
    """Raises `not_acceptable` when the endpoint answers JSON and `Accept` excludes it; errors need no consent."""
    endpoint = call.endpoint
    sent = call.request.environ.get("HTTP_ACCEPT")
    if sent and endpoint.status != 204 and not endpoint.produces and not _takes_json(sent):
        raise Problem("not_acceptable", Message("Media types that are answered here: {types}.", types=JSON))


def best(call: Call, *types: str) -> str:
    """The one of these media types that the client likes best, the first of them where it does not care.

    Raises `Problem` (`not_acceptable`).
    """
    wishes = call.request.accept_mimetypes
    if not any("/" in kind for kind in wishes.values()):
        return types[0]
    found = max(types, key=wishes.quality)
    if not wishes.quality(found):
        raise Problem("not_acceptable", Message("Media types that are answered here: {types}.", types=", ".join(types)))
    return found


@lru_cache(maxsize=256)
def _takes_json(accept: str) -> bool:
    # A header that says nothing intelligible excludes nothing.
    wishes = parse_accept_header(accept, MIMEAccept)
    return not any("/" in kind for kind in wishes.values()) or wishes.quality(JSON) > 0
