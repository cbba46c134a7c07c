"""Secrets in the database: each is bound to its user and its key, and follows the keys of the instance."""

from __future__ import annotations

import pytest

from blueprints.accounts.second_factor.encryption import CannotDecrypt, decrypt, encrypt, reencrypt
from gatepost.features import Installation
from gatepost.http.security.keys import Keys, new_master
from models.base import Rows, new_id
from models.tables.second_factor import SecondFactor
from tests.apps import PASSWORD

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def test_a_secret_is_read_with_its_key_and_by_its_user_alone():
    old, owner = Keys([new_master()]), new_id()
    stored = encrypt(old, SECRET, owner)
    assert SECRET not in stored and encrypt(old, SECRET, owner) != stored
    assert decrypt(old, stored, owner) == SECRET
    ring = Keys([new_master(), *old.masters])
    assert decrypt(ring, stored, owner) == SECRET
    kid = stored.partition(".")[0]
    for keys, text, user in ((Keys([new_master()]), stored, owner), (old, stored, new_id()), (old, "", owner),
                             (old, kid, owner), (old, f"{kid}.", owner), (old, f"{kid}.AAAA", owner),
                             (old, f"{stored[:-2]}AA", owner), (old, f"{kid}.é", owner), (old, SECRET, owner)):
        with pytest.raises(CannotDecrypt):
            decrypt(keys, text, user)


@pytest.mark.both_databases
def test_all_secrets_are_encrypted_with_the_newest_key(app, given, elsewhere):
    services = app.extensions["gatepost"]
    ring = Keys([new_master(), *services.keys.masters])
    users = [place.user(password=PASSWORD) for place in (given, elsewhere, given)]
    lost = users.pop()

    def work() -> None:
        for user in users:
            Rows(SecondFactor, user.tenant_id).insert(SecondFactor(
                owner_id=user.id, secret=encrypt(services.keys, SECRET, user.id)))
        Rows(SecondFactor, lost.tenant_id).insert(SecondFactor(
            owner_id=lost.id, secret=encrypt(Keys([new_master()]), SECRET, lost.id)))

    services.database.transact(work)

    def stored(user):
        with services.database.connected():
            return SecondFactor.of(user)

    before = stored(lost)
    for _ in range(2):
        reencrypt(Installation(services.settings, services.database), ring)
    newest = Keys(ring.masters[:1])
    assert [decrypt(newest, stored(user).secret, user.id) for user in users] == [SECRET] * 2
    assert [stored(user).version for user in users] == [1, 1]
    assert stored(lost).secret == before.secret
