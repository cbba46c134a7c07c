"""Conditional requests (RFC 9110 section 13): `If-Match` guards a write, `If-None-Match` saves a read.

A row's ETag is `"<version>"`; a partial or personalised view adds a hash of itself,
`"<version>-<hash>"`. `If-Match` compares the version alone, so that either form guards a write.
"""

from __future__ import annotations

import re

from flask import Response

from .call import Call
from .errors import Fault, Problem

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"\s*(?:\*|{_TAG}(?:\s*,\s*{_TAG})*)\s*")
_VERSION = re.compile(r'(W/)?"(\d{1,19})(?:-[0-9a-f]+)?"')


def entity_tag(version: int, fingerprint: str | None = None) -> str:
    """The strong ETag of a row's representation."""
    return f'"{version}"' if fingerprint is None else f'"{version}-{fingerprint}"'


def check_syntax(call: Call) -> None:
    """Raises `invalid_header` for a precondition that is not a list of entity tags."""
    for header in ("If-Match", "If-None-Match"):
        sent = call.request.headers.get(header)
        if sent is not None and not _TAGS.fullmatch(sent):
            fault = Fault("invalid_header", 'Send entity tags such as "3", or *.', header=header)
            raise Problem.of([fault], "invalid_header")


def check(call: Call) -> None:
    """Raises `version_conflict` when `If-Match` names no tag of the loaded row's version."""
    if not call.endpoint.conditional:
        return
    sent = call.request.headers.get("If-Match")
    if sent is None:
        if call.services.settings.require_if_match:
            raise Problem("precondition_required", "Send If-Match with the ETag that you have read.")
        return
    # If-Match compares strongly (RFC 9110 section 13.1.1): a weak tag never matches.
    versions = {version for weak, version in _VERSION.findall(sent) if not weak}
    if sent.strip() != "*" and str(call.row.version) not in versions:
        raise Problem("version_conflict", f"The object is at version {call.row.version} now.",
                      headers={"ETag": entity_tag(call.row.version)})


def answer_not_modified(call: Call, response: Response) -> None:
    """Turn the answer into 304 when the client has this representation already."""
    sent, tag = call.request.headers.get("If-None-Match"), response.headers.get("ETag")
    if sent is None or tag is None or response.status_code != 200:
        return
    if sent.strip() == "*" or tag in (known.removeprefix("W/") for known in re.findall(_TAG, sent)):
        response.status_code = 304
        response.set_data(b"")
        for header in ("Content-Type", "Content-Length"):
            response.headers.pop(header, None)
