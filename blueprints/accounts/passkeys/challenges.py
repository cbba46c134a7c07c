"""Challenges: random, for one purpose, valid for five minutes and one use.

A challenge carries its end and an HMAC, so that asking for one stores nothing. A use stores its hash until the end.
"""

from __future__ import annotations

import secrets
import struct
from hashlib import sha256
from hmac import compare_digest, digest

from gatepost.http.security.keys import Keys
from models.records.times import now
from models.tables.passkey import use_challenge

_PURPOSE = "passkey challenge"
LASTS = 300  # seconds
_RANDOM, _MAC = 32, 16  # bytes
_END = struct.Struct(">Q")


def new(keys: Keys, purpose: str, at: float) -> bytes:
    """Returns a challenge for a purpose: `login`, or the creation of a passkey by one user."""
    content = secrets.token_bytes(_RANDOM) + _END.pack(int(at) + LASTS)
    return content + _mac(keys.derive(_PURPOSE), purpose, content)


def is_valid(keys: Keys, purpose: str, challenge: bytes, at: float) -> bool:
    """True if this is a challenge for the purpose that has not ended."""
    content, mac = challenge[:-_MAC], challenge[-_MAC:]
    if len(content) != _RANDOM + _END.size:
        return False
    (end,) = _END.unpack(content[_RANDOM:])
    is_genuine = any([compare_digest(_mac(key, purpose, content), mac) for key in keys.secrets(_PURPOSE)])
    return is_genuine and at < end


def use(tenant_id: str, challenge: bytes) -> bool:
    """Uses a challenge in a transaction. Returns False if it was used before."""
    return use_challenge(tenant_id, sha256(challenge).hexdigest(), now(), LASTS)


def _mac(key: bytes, purpose: str, content: bytes) -> bytes:
    return digest(key, purpose.encode() + b"\0" + content, "sha256")[:_MAC]
