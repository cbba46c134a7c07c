"""Conditional requests (RFC 9110 section 13): `If-Match` guards a write, `If-None-Match` saves a read.

`If-Match` compares the version of an entity tag alone, so that the tag of a partial view guards a write, too.
"""

from __future__ import annotations

from ..protocol.entity_tags import TAG, TAGS, VERSION, entity_tag, names_version
from ..protocol.messages import Message
from ..protocol.problems import Fault, Problem
from ..request.call import Call


def check_syntax(call: Call) -> None:
    """Raises `invalid_header` for a precondition that is not a list of entity tags."""
    for header, key in (("If-Match", "HTTP_IF_MATCH"), ("If-None-Match", "HTTP_IF_NONE_MATCH")):
        sent = call.request.environ.get(key)
        if sent is not None and not TAGS.fullmatch(sent):
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
    if wanted is not None and not names_version(wanted, version, weak=False):
        raise _conflict(version)
    # A write answers 412 where a read would answer 304 (RFC 9110 section 13.1.2).
    if unwanted is not None and names_version(unwanted, version, weak=True):
        raise _conflict(version)


def is_known(call: Call, tag: str) -> bool:
    """Whether the client has the representation that `tag` names already, so that 304 answers its read.

    Raises `version_conflict` when it asked for another one by `If-Match`.
    """
    sent, wanted = call.request.environ.get("HTTP_IF_NONE_MATCH"), call.request.environ.get("HTTP_IF_MATCH")
    if wanted is not None:
        found = VERSION.fullmatch(tag)
        if found and not names_version(wanted, found[2], weak=False):
            raise _conflict(found[2])
    return sent is not None and (
        sent.strip() == "*" or tag in (known.removeprefix("W/") for known in TAG.findall(sent)))


def _conflict(version: str) -> Problem:
    return Problem("version_conflict", Message("The object is at version {version} now.", version=version),
                   headers={"ETag": entity_tag(int(version))})
