"""Conditional requests (RFC 9110 section 13): `If-Match` guards a write, `If-None-Match` saves a read.

`If-Match` compares only the version in an entity tag, so that the tag of a partial view guards a write as well. For a
caller who may not see the version, tags have a keyed hash in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from gatepost.http.protocol.entity_tags import TAG, TAGS, VERSION, entity_tag, names_version, version_of
from gatepost.http.protocol.messages import Message
from gatepost.http.protocol.problems import Fault, Problem
from gatepost.http.request.call import Call
from gatepost.http.security.keys import Keys

_PURPOSE = "hidden version"
_SIZE = 16  # bytes


def hidden_version(keys: Keys, id: str, version: str) -> str:
    """Returns the keyed hash of the version with the newest key: `h` and 32 hex digits."""
    return _keyed_hash(keys.derive(_PURPOSE), id, version)


def hidden_versions(keys: Keys, id: str, version: str) -> frozenset[str]:
    """Returns the keyed hashes of the version with all keys that still verify."""
    return frozenset(_keyed_hash(key, id, version) for key in keys.secrets(_PURPOSE))


def _keyed_hash(key: bytes, id: str, version: str) -> str:
    return "h" + hashlib.blake2b(f"{id} {version}".encode(), key=key, digest_size=_SIZE).hexdigest()


def check_syntax(call: Call) -> None:
    """Raises `invalid_header` for a precondition that is not a list of entity tags."""
    for header, key in (("If-Match", "HTTP_IF_MATCH"), ("If-None-Match", "HTTP_IF_NONE_MATCH")):
        value = call.request.environ.get(key)
        if value is not None and not TAGS.fullmatch(value):
            fault = Fault("invalid_header", 'Send entity tags such as "3", or *.', header=header)
            raise Problem.of([fault], "invalid_header")


def check(call: Call) -> None:
    """Raises `version_conflict` if a precondition is false for the row, `precondition_required` if one is missing."""
    if not call.endpoint.conditional:
        return
    if_match, if_none_match = call.request.environ.get("HTTP_IF_MATCH"), call.request.environ.get("HTTP_IF_NONE_MATCH")
    if if_match is None and call.services.settings.require_if_match:
        raise Problem("precondition_required", "Send If-Match with the ETag that you have read.")
    if if_match is not None and not names_version(if_match, _versions(call), weak=False):
        raise _conflict(call)
    # A write answers 412 when a read would answer 304 (RFC 9110 section 13.1.2).
    if if_none_match is not None and names_version(if_none_match, _versions(call), weak=True):
        raise _conflict(call)


def is_known(call: Call, tag: str) -> bool:
    """True if the client already has the representation that `tag` names, so that 304 answers its read.

    Raises `version_conflict` if its `If-Match` names another version.
    """
    if_none_match, if_match = call.request.environ.get("HTTP_IF_NONE_MATCH"), call.request.environ.get("HTTP_IF_MATCH")
    if (if_match is not None and call.row is not None and VERSION.fullmatch(tag)
            and not names_version(if_match, _versions(call), weak=False)):
        raise _conflict(call)
    return if_none_match is not None and (
        if_none_match.strip(" \t") == "*"
        or tag in (client_tag.removeprefix("W/") for client_tag in TAG.findall(if_none_match)))


def written_version(call: Call, permission: str | None) -> str:
    """Returns the version of the call's row for a tag: hashed if the caller lacks `permission`, which shows it."""
    return version_for(call, call.facts, permission)


def version_for(call: Call, row: Mapping[str, Any], permission: str | None) -> str:
    """Returns the same for any row, given as its columns."""
    version = version_of(call.services.epoch.value, row["version"])
    if permission is None or call.access.allows(permission, row):
        return version
    return hidden_version(call.services.keys, row["id"], version)


def _versions(call: Call) -> Collection[str]:
    """Returns the forms in which a tag of the caller may name the version of the loaded row."""
    version = version_of(call.services.epoch.value, call.facts["version"])
    if _is_shown(call, call.endpoint.version_guard):
        return (version,)
    return hidden_versions(call.services.keys, call.facts["id"], version)


def _is_shown(call: Call, permission: str | None) -> bool:
    return permission is None or call.access.allows(permission, call.facts)


def _conflict(call: Call) -> Problem:
    version = written_version(call, call.endpoint.version_guard)
    detail = (Message("The object is at version {version} now.", version=call.facts["version"])
              if _is_shown(call, call.endpoint.version_guard)
              else Message("The object as it is now is not what the precondition says."))
    return Problem("version_conflict", detail, headers={"ETag": entity_tag(version)})
