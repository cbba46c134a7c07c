"""Encryption of backups for one recipient: age (https://age-encryption.org/v1), with the extra `backup` (pyrage)."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

SUFFIX = ".age"


class CannotEncrypt(Exception):
    """Error of an archive that cannot be encrypted or decrypted. The message is a sentence."""


def is_encrypted(archive: Path) -> bool:
    """True if the file is encrypted with age."""
    with open(archive, "rb") as file:
        return file.read(21) == b"age-encryption.org/v1"


def encrypt(source: Path, target: Path, recipient: str) -> None:
    """Encrypts `source` to `target` for the recipient. Raises CannotEncrypt, OSError."""
    age = _age()
    kind = age.ssh if recipient.startswith("ssh-") else age.x25519
    try:
        to = kind.Recipient.from_str(recipient)
        age.encrypt_file(str(source), str(target), [to])
    except (age.RecipientError, age.EncryptError) as error:
        raise CannotEncrypt(f"The backup cannot be encrypted to {recipient}: {error}.") from error


def decrypt(source: Path, target: Path, identity: Path) -> None:
    """Decrypts `source` to `target` with one of the identities in a file. Raises CannotEncrypt, OSError."""
    age = _age()
    try:
        age.decrypt_file(str(source), str(target), _identities(age, identity))
    except OSError as error:
        if error.errno is not None:
            raise
        # pyrage raises OSError without an errno for a changed file.
        raise CannotEncrypt(f"{source} cannot be decrypted by {identity}: {error}.") from error
    except (age.IdentityError, age.DecryptError, UnicodeDecodeError) as error:
        raise CannotEncrypt(f"{source} cannot be decrypted by {identity}: {error}.") from error


def _identities(age: ModuleType, file: Path) -> list[Any]:
    """Reads the identities in a file of age-keygen or ssh-keygen."""
    text = file.read_text(encoding="utf-8")
    if "PRIVATE KEY-----" in text:
        return [age.ssh.Identity.from_buffer(text.encode())]
    return [age.x25519.Identity.from_str(line.strip()) for line in text.splitlines()
            if line.strip() and not line.startswith("#")]


def _age() -> ModuleType:
    # Imported when needed, because it is an extra.
    try:
        import pyrage
    except ImportError:
        raise CannotEncrypt("Encrypted backups need pyrage. Run: pip install 'gatepost[backup]'") from None
    return pyrage
