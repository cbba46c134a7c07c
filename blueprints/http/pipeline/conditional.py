"""Conditional requests (RFC 9110 section 13): `If-Match` guards a write, `If-None-Match` saves a read.

A row's ETag is `"<version>"`; a partial or personalised view adds a hash of itself,
`"<version>-<hash>"`. `If-Match` compares the version alone, so that either form guards a write.
"""

from __future__ import annotations

import re

from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem
from ..request.call import Call

_TAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_TAGS = re.compile(rf"\s*(?:\*|{_TAG}(?:\s*,\s*{_TAG})*)\s*")
_VERSION = re.compile(r'(W/)?"(\d{1,19})(?:-[0-9a-f]+)?"')


def entity_tag(version: int, fingerprint: str | None = None) -> str:
    """The strong ETag of a row's representation."""
    return f'"{version}"' if fingerprint is None else f'"{version}-{fingerprint}"'


def check_syntax(call: Call) -> None:
    """Raises `invalid_header` for a precondition that is not a list of entity tags."""
    for header, key in (("If-Match", "HTTP_IF_MATCH"), ("If-None-Match", "HTTP_IF_NONE_MATCH")):
        sent = call.request.environ.get(key)
        if sent is not None and not _TAGS.fullmatch(sent):
            fault = Fault("invalid_header", 'Send entity tags such as "3", or *.', header=header)
            raise Problem.of([fault], "invalid_header")


def check(call: Call) -> None:
    """Raises `version_conflict` when the loaded row is not what a precondition says, `precondition_required` when
    one must be sent and was not."""
    if not call.endpoint.conditional:
        return
    wanted, unwanted = call.request.environ.get("HTTP_IF_MATCH"), call.request.environ.get("HTTP_IF_NONE_MATCH")
    if wanted is None and call.services.settings.require_if_match:
        raise Problem("precondition_required", "Send If-Match with the ETag that you have read.")
    version = str(call.row.version)
    if wanted is not None and not _names(wanted, version, weak=False):
        raise _conflict(version)
    # A write answers 412 where a read would answer 304 (RFC 9110 section 13.1.2).
    if unwanted is not None and _names(unwanted, version, weak=True):
        raise _conflict(version)


def is_known(call: Call, tag: str) -> bool:
    """Whether the client has the representation that `tag` names already, so that 304 answers its read.

    Raises `version_conflict` when it asked for another one by `If-Match`.
    """
    sent, wanted = call.request.environ.get("HTTP_IF_NONE_MATCH"), call.request.environ.get("HTTP_IF_MATCH")
    if wanted is not None:
        found = _VERSION.fullmatch(tag)
        if found and not _names(wanted, found[2], weak=False):
            raise _conflict(found[2])
    return sent is not None and (
        sent.strip() == "*" or tag in (known.removeprefix("W/") for known in re.findall(_TAG, sent)))


def _names(tags: str, version: str, *, weak: bool) -> bool:
    """Whether a list of entity tags holds this version; `*` is any (RFC 9110 section 8.8.3.2)."""
    return tags.strip() == "*" or version in {
        number for prefix, number in _VERSION.findall(tags) if weak or not prefix}


def _conflict(version: str) -> Problem:
    return Problem("version_conflict", Message("The object is at version {version} now.", version=version),
                   headers={"ETag": entity_tag(int(version))})
