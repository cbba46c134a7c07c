"""A device with passkeys, in software: answers as a browser does, or as a test wants (WebAuthn level 2)."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from gatepost.http.security.base64url import decode, encode

USER_PRESENT, USER_VERIFIED, ATTESTED = 0x01, 0x04, 0x40


@dataclass
class Device:
    """A passkey: its key, its counter, and what it claims about the page and its user."""

    origin: str
    verifies: bool = True
    count: int = 0
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    handle: bytes = b""

    def create(self, options: dict[str, Any], **changes: Any) -> str:
        """Returns the answer to options for a new passkey, as JSON."""
        self.handle = decode(options["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")})
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + public
        content = self._content(changes.get("rp_id", options["rp"]["id"]), ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": content})
        return self._answer({"clientDataJSON": encode(self._client("webauthn.create", options, changes)),
                             "attestationObject": encode(attestation)})

    def get(self, options: dict[str, Any], **changes: Any) -> str:
        """Returns the answer to options for a login, as JSON."""
        self.count += 1 if self.count else 0
        content = self._content(changes.get("rp_id", options["rpId"]), 0)
        client = self._client("webauthn.get", options, changes)
        signature = changes.get("key", self.key).sign(content + sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer({
            "clientDataJSON": encode(client), "authenticatorData": encode(content), "signature": encode(signature),
            "userHandle": encode(changes.get("handle", self.handle))})

    def _content(self, rp_id: str, flags: int) -> bytes:
        flags |= USER_PRESENT | (USER_VERIFIED if self.verifies else 0)
        return sha256(rp_id.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, options: dict[str, Any], changes: dict[str, Any]) -> bytes:
        client = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return json.dumps(client | {name: changes[name] for name in client.keys() & changes.keys()}).encode()

    def _answer(self, response: dict[str, str]) -> str:
        id = encode(self.id)
        return json.dumps({"id": id, "rawId": id, "type": "public-key", "response": response,
                           "clientExtensionResults": {}})
