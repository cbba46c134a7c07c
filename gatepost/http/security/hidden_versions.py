"""What an entity tag says of a version that its reader may not see: a keyed hash of the row's id and version.

It changes with the version and tells neither the number nor how many changes there were. Every process of an instance
writes the same (BLAKE2b, RFC 7693, with a derived key); one that a replaced key wrote is known as long as the key
verifies.
"""

from __future__ import annotations

import hashlib

from .keys import Keys

_PURPOSE = "hidden version"
_SIZE = 16  # bytes


def hidden_version(keys: Keys, id: str, version: str) -> str:
    """The version as the newest key writes it: `h` and 32 hex digits."""
    return _written(keys.derive(_PURPOSE), id, version)


def hidden_versions(keys: Keys, id: str, version: str) -> frozenset[str]:
    """The version as every key writes it that still verifies."""
    return frozenset(_written(key, id, version) for key in keys.secrets(_PURPOSE))


def _written(key: bytes, id: str, version: str) -> str:
    return "h" + hashlib.blake2b(f"{id} {version}".encode(), key=key, digest_size=_SIZE).hexdigest()
