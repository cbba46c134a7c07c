"""Encoding of keys, cursors and refresh tokens: base64url without padding (RFC 4648 section 5)."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode


def encode(content: bytes) -> str:
    """Encodes bytes as text for URLs."""
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Decodes the output of `encode`. Raises ValueError for any other text.

    The check is strict: base64 has spare bits, and the standard library ignores unknown characters.
    """
    content = urlsafe_b64decode(text + "===")
    if encode(content) != text:
        raise ValueError("not base64url, or not as it is written here")
    return content
