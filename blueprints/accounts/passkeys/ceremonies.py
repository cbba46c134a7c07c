"""Creation of a passkey, and a login with one, by the library webauthn. It is imported when it is first used.

Both demand that the device verified its user, by a PIN or a fingerprint: then a passkey is two factors.
"""

from __future__ import annotations

from time import time
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from gatepost import Call, Message, Problem
from gatepost.http.request import audit
from gatepost.http.security.base64url import decode, encode
from models.tables.passkey import Passkey, passkeys_of
from models.tables.user import User

from . import challenges, configured

LONGEST = 20_000  # characters of an answer of the browser
_LONGEST_ID = 1364  # characters: 1023 bytes (WebAuthn level 2)
_REFUSED = "invalid_credentials", Message("This passkey is not known here, or it took too long. Try again.")
_TIMEOUT = challenges.LASTS * 1000


class Created(NamedTuple):
    """A new passkey, not stored yet."""

    challenge: bytes
    credential_id: str
    public_key: str
    sign_count: int


class Proof(NamedTuple):
    """A login that was checked, before its transaction: the passkey as it was then."""

    challenge: bytes
    passkey: Passkey
    user: User
    sign_count: int


def creation_options(call: Call, user: User) -> str:
    """Returns the options for `navigator.credentials.create`, as JSON. The database is connected."""
    from webauthn import generate_registration_options, options_to_json
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        PublicKeyCredentialDescriptor,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    settings = call.services.settings
    present = [PublicKeyCredentialDescriptor(id=decode(passkey.credential_id)) for passkey in passkeys_of(user)
               if passkey.rp_id == settings.rp_id]
    return options_to_json(generate_registration_options(
        rp_id=settings.rp_id, rp_name=settings.rp_id, user_id=UUID(user.id).bytes, user_name=user.email,
        user_display_name=user.name, challenge=challenges.new(call.services.keys, _creation(user.id), time()),
        timeout=_TIMEOUT, exclude_credentials=present,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED)))


def login_options(call: Call) -> str:
    """Returns the options for `navigator.credentials.get`, as JSON. They name no user: a device knows its passkeys."""
    from webauthn import generate_authentication_options, options_to_json
    from webauthn.helpers.structs import UserVerificationRequirement

    return options_to_json(generate_authentication_options(
        rp_id=call.services.settings.rp_id, challenge=challenges.new(call.services.keys, "login", time()),
        timeout=_TIMEOUT, user_verification=UserVerificationRequirement.REQUIRED))


def created(call: Call, user_id: str, text: str) -> Created:
    """Checks the browser's answer to `creation_options`. Raises `Problem` (`conflict`)."""
    from webauthn import verify_registration_response

    settings = call.services.settings
    try:
        answer = _object(text)
        challenge = _challenge(answer)
        if not challenges.is_valid(call.services.keys, _creation(user_id), challenge, time()):
            raise ValueError("challenge")
        verified = verify_registration_response(
            credential=answer, expected_challenge=challenge, expected_rp_id=settings.rp_id,
            expected_origin=configured.origin(settings), require_user_verification=True)
    except Exception:  # the library raises many kinds for what a client made up
        raise Problem("conflict", "This passkey cannot be used, or it took too long. Try again.") from None
    return Created(challenge, encode(verified.credential_id), encode(verified.credential_public_key),
                   verified.sign_count)


def proof(call: Call, text: str) -> Proof:
    """Checks the browser's answer to `login_options`. Raises `Problem` (`invalid_credentials`).

    The device's counter must grow, unless it is always 0: otherwise somebody may have copied the passkey.
    """
    from webauthn import verify_authentication_response

    settings = call.services.settings
    try:
        answer = _object(text)
        challenge, credential_id = _challenge(answer), encode(decode(answer["id"]))
        handle = answer["response"].get("userHandle")
        is_valid = len(credential_id) <= _LONGEST_ID and challenges.is_valid(
            call.services.keys, "login", challenge, time())
    except Exception:  # many kinds, for what a client made up
        raise refused() from None
    with call.services.database.connected():
        passkey_and_user = Passkey.by_credential(credential_id, settings.rp_id) if is_valid else None
    if passkey_and_user is None:
        raise refused()
    passkey, user = passkey_and_user
    try:
        if handle is not None and decode(handle) != UUID(user.id).bytes:
            raise ValueError("user handle")
        verified = verify_authentication_response(
            credential=answer, expected_challenge=challenge, expected_rp_id=settings.rp_id,
            expected_origin=configured.origin(settings), credential_public_key=decode(passkey.public_key),
            credential_current_sign_count=passkey.sign_count, require_user_verification=True)
    except Exception:  # as above
        audit.note_failure(call, user)
        raise audit.WrongPassword(*_REFUSED) from None
    return Proof(challenge, passkey, user, verified.new_sign_count)


def refused() -> Problem:
    """Returns one refusal for all that can be wrong with a login, so that it does not tell which."""
    return Problem(*_REFUSED)


def _creation(user_id: str) -> str:
    return f"create {user_id}"


def _object(text: str) -> dict[str, Any]:
    answer = orjson.loads(text)
    if not isinstance(answer, dict) or not isinstance(answer.get("response"), dict):
        raise ValueError("no answer of a browser")
    return answer


def _challenge(answer: dict[str, Any]) -> bytes:
    """Returns the challenge that the browser signed."""
    return decode(orjson.loads(decode(answer["response"]["clientDataJSON"]))["challenge"])
