"""Encryption of secrets in the database (AES-256-GCM), with keys of a purpose of their own.

The text is `<kid>.<nonce and ciphertext>`. It is bound to its user, so that nobody can move it to another row.
`gatepost keys rotate` encrypts all of them with the new key (`reencrypt`).
"""

from __future__ import annotations

import secrets

from gatepost.features import Installation
from gatepost.http.security.base64url import decode, encode
from gatepost.http.security.keys import Keys
from models.tables.second_factor import SecondFactor

_PURPOSE = "second factor"
_NONCE = 12  # bytes


class CannotDecrypt(Exception):
    """Error of a secret that none of the keys has encrypted, or that was changed."""


def encrypt(keys: Keys, secret: str, owner_id: str) -> str:
    """Returns the text to store for the secret of a user."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    kid, key = keys.every(_PURPOSE)[0]
    nonce = secrets.token_bytes(_NONCE)
    return f"{kid}.{encode(nonce + AESGCM(key).encrypt(nonce, secret.encode(), owner_id.encode()))}"


def decrypt(keys: Keys, stored: str, owner_id: str) -> str:
    """Returns the secret of a user. Raises `CannotDecrypt`."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    kid, _, text = stored.partition(".")
    key = dict(keys.every(_PURPOSE)).get(kid)
    if key is None:
        raise CannotDecrypt
    try:
        sealed = decode(text)
        return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], owner_id.encode()).decode()
    except (ValueError, InvalidTag):
        raise CannotDecrypt from None


def reencrypt(installation: Installation, keys: Keys) -> None:
    """Encrypts all secrets with the key that signs. Leaves those that none of the keys can decrypt. Raises `RowError`.
    """
    kid, _ = keys.every(_PURPOSE)[0]
    with installation.database.connected():
        rows = [row for row in SecondFactor.each() if not row.secret.startswith(f"{kid}.")]
    for row in rows:
        try:
            renewed = encrypt(keys, decrypt(keys, row.secret, row.owner_id), row.owner_id)
        except CannotDecrypt:
            continue
        installation.database.transact(lambda row=row, renewed=renewed: row.renew_secret(renewed))  # type: ignore[misc]
