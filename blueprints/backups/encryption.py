"""Backups that only their recipient can read: age (https://age-encryption.org/v1), by the extra `backup` (pyrage)."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

SUFFIX = ".age"


class CannotEncrypt(Exception):
    """An archive cannot be encrypted or decrypted; the text is a sentence."""


def is_encrypted(archive: Path) -> bool:
    """Whether a file is one that age has encrypted."""
    with open(archive, "rb") as file:
        return file.read(21) == b"age-encryption.org/v1"


def encrypt(source: Path, target: Path, recipient: str) -> None:
    """Write `source` for the recipient alone. Raises CannotEncrypt, OSError."""
    age = _age()
    kind = age.ssh if recipient.startswith("ssh-") else age.x25519
    try:
        to = kind.Recipient.from_str(recipient)
        age.encrypt_file(str(source), str(target), [to])
    except (age.RecipientError, age.EncryptError) as error:
        raise CannotEncrypt(f"The backup cannot be encrypted to {recipient}: {error}.") from error


def decrypt(source: Path, target: Path, identity: Path) -> None:
    """Write what one of the identities in a file can read of `source`. Raises CannotEncrypt, OSError."""
    age = _age()
    try:
        age.decrypt_file(str(source), str(target), _identities(age, identity))
    except OSError as error:
        if error.errno is not None:
            raise
        # So it says of a part that is not as it was written.
        raise CannotEncrypt(f"{source} cannot be decrypted by {identity}: {error}.") from error
    except (age.IdentityError, age.DecryptError, UnicodeDecodeError) as error:
        raise CannotEncrypt(f"{source} cannot be decrypted by {identity}: {error}.") from error


def _identities(age: ModuleType, file: Path) -> list[Any]:
    """Those of a file that age-keygen or ssh-keygen has written."""
    text = file.read_text(encoding="utf-8")
    if "PRIVATE KEY-----" in text:
        return [age.ssh.Identity.from_buffer(text.encode())]
    return [age.x25519.Identity.from_str(line.strip()) for line in text.splitlines()
            if line.strip() and not line.startswith("#")]


def _age() -> ModuleType:
    # Imported where it is needed: an extra.
    try:
        import pyrage
    except ImportError:
        raise CannotEncrypt("Encrypted backups need pyrage. Run: pip install 'gatepost[backup]'") from None
    return pyrage
