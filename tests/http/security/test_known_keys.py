"""A database knows its key ring: a lost or wrong one is reported as such, and signs nothing."""

from __future__ import annotations

import secrets

import pytest

from gatepost.http.auditing.writer import AuditWriter
from gatepost.http.security.keys import Keys, create_key_file, fingerprints, forget_older, rotate
from gatepost.http.security.known_keys import WrongKeys, adopt, check, prepare_known, rotate_known
from models.engine.errors import RowError, Unavailable
from models.tables.audit import add
from models.tables.instance import Instance, the_instance
from models.tables.tenant import Tenant
from tests.apps import PASSWORD, Given, close, make_app, new_instance


@pytest.fixture
def ring(tmp_path, database):
    """A key ring in a file. The database knows no ring yet."""
    with database.connected():
        Instance.update(key_fingerprint=None).execute()
    file = tmp_path / "secret.key"
    create_key_file(file)
    return file


def known(database):
    with database.connected():
        return the_instance().key_fingerprint


def other(file):
    """Another key ring in place of the file."""
    file.unlink()
    create_key_file(file)
    return Keys.load(file)


def test_the_first_ring_is_noted_and_a_fingerprint_tells_nothing_of_it(ring, database):
    keys = Keys.load(ring)
    check(database, keys)
    assert known(database) == fingerprints(keys)[0]
    assert len(known(database)) == 32
    assert known(database) not in ring.read_text() and keys.masters[0].secret.hex() not in known(database)


def test_another_ring_is_refused_and_the_right_one_is_not(ring, database):
    right = ring.read_bytes()
    check(database, Keys.load(ring))
    with pytest.raises(WrongKeys, match="gatepost init --new-key"):
        check(database, other(ring))
    ring.write_bytes(right)
    check(database, Keys.load(ring))


def test_a_ring_whose_newest_key_is_new_is_noted(ring, database):
    check(database, Keys.load(ring))
    check(database, rotate(ring))
    assert known(database) == fingerprints(Keys.load(ring))[0]


def test_a_ring_that_is_adopted_is_right(ring, database):
    check(database, Keys.load(ring))
    keys = other(ring)
    adopt(database, keys)
    check(database, keys)


@pytest.mark.parametrize("forget", [False, True])
def test_a_rotation_that_is_stopped_anywhere_leaves_a_ring_that_is_right(ring, database, forget, monkeypatch):
    check(database, Keys.load(ring))
    for step in ("rotate", "adopt", "forget_older"):
        def stop(*_given, step=step, **_options):
            raise KeyboardInterrupt(step)

        with monkeypatch.context() as patched:
            patched.setattr(f"gatepost.http.security.known_keys.{step}", stop)
            try:
                rotate_known(database, ring, forget=forget)
            except KeyboardInterrupt as stopped:
                assert str(stopped) == step
        check(database, Keys.load(ring))
    assert len(rotate_known(database, ring, forget=forget).masters) == (1 if forget else 4)


@pytest.mark.parametrize("forget", [False, True])
def test_older_keys_stay_until_what_they_have_encrypted_is_encrypted_again(ring, database, forget):
    adopt(database, Keys.load(ring))
    rotate_known(database, ring, forget=False)
    before = Keys.load(ring).masters

    def fail(keys: Keys) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        rotate_known(database, ring, forget=forget, reencrypt=fail)
    assert Keys.load(ring).masters[1:] == before
    seen: list[Keys] = []
    newest = rotate_known(database, ring, forget=forget, reencrypt=seen.append)
    assert [keys.masters[0] for keys in seen] == [newest.masters[0]] * (2 if forget else 1)
    assert all(all(master in keys.masters for master in before) for keys in seen)
    assert len(newest.masters) == (1 if forget else len(before) + 2)


@pytest.mark.parametrize("step", ["promote", "adopt"])
def test_a_promotion_that_is_stopped_anywhere_is_completed(ring, database, step, monkeypatch):
    check(database, Keys.load(ring))
    prepared = prepare_known(database, ring).masters[1].secret

    def stop(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"gatepost.http.security.known_keys.{step}", stop)
        with pytest.raises(KeyboardInterrupt):
            rotate_known(database, ring, forget=False)
    check(database, Keys.load(ring))
    if step == "promote":
        rotate_known(database, ring, forget=False)
    found = Keys.load(ring)
    assert (len(found.masters), found.masters[0].secret) == (2, prepared)
    assert known(database) == fingerprints(found)[0]


@pytest.mark.parametrize("step", ["rotate", "adopt", "forget_older"])
@pytest.mark.parametrize("behind", [False, True], ids=["the first node", "a node behind"])
def test_forgetting_a_ring_with_a_prepared_key_can_be_stopped_anywhere(ring, database, step, behind, monkeypatch):
    check(database, Keys.load(ring))
    before = {each.secret for each in prepare_known(database, ring).masters}
    if behind:
        promoted_elsewhere(ring, database)

    def stop(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"gatepost.http.security.known_keys.{step}", stop)
        with pytest.raises(KeyboardInterrupt):
            rotate_known(database, ring, forget=True)
    check(database, Keys.load(ring))
    [kept] = rotate_known(database, ring, forget=True).masters
    assert kept.secret not in before and not kept.prepared
    check(database, Keys.load(ring))


def promoted_elsewhere(ring, database):
    """Makes another node, with a copy of the ring, sign with the prepared key. Returns its ring."""
    copy = ring.with_name("copy.key")
    copy.write_bytes(ring.read_bytes())
    copy.chmod(0o600)
    return rotate_known(database, copy, forget=False)


def test_a_node_whose_ring_has_the_newest_key_only_prepared_is_right_and_behind(ring, database):
    check(database, Keys.load(ring))
    prepare_known(database, ring)
    there = promoted_elsewhere(ring, database)
    newest = fingerprints(there)[0]
    # A start of this node, or its reading of the file, must not return the database to the previous key.
    check(database, Keys.load(ring))
    assert known(database) == newest
    here = rotate_known(database, ring, forget=False)
    assert known(database) == newest
    assert [each.secret for each in here.masters] == [each.secret for each in there.masters], "no third key is made"


def test_a_node_that_was_not_given_the_key_is_not_rotated(ring, database):
    check(database, Keys.load(ring))
    before = ring.read_bytes()
    prepare_known(database, ring)
    promoted_elsewhere(ring, database)
    ring.write_bytes(before)
    for attempt in (lambda: prepare_known(database, ring), lambda: rotate_known(database, ring, forget=False)):
        with pytest.raises(WrongKeys):
            attempt()
    assert ring.read_bytes() == before


def test_a_ring_is_not_rotated_that_is_wrong_or_cannot_be_known(ring, database, monkeypatch):
    check(database, Keys.load(ring))
    right, wrong = ring.read_bytes(), other(ring).masters
    with pytest.raises(WrongKeys):
        rotate_known(database, ring, forget=True)
    assert Keys.load(ring).masters == wrong
    ring.write_bytes(right)

    def gone() -> None:
        raise Unavailable("no database")

    monkeypatch.setattr("gatepost.http.security.known_keys.the_instance", gone)
    with pytest.raises(RowError):
        rotate_known(database, ring, forget=True)
    assert ring.read_bytes() == right


def test_a_database_of_before_knows_its_ring_by_its_newest_seal(ring, database):
    keys = Keys.load(ring)
    with database.connected():
        tenant = Tenant.add(f"sealed {secrets.token_hex(4)}").id
        add(tenant_id=tenant, principal="operator", role="operator", resource="x", action="y", result="allowed")
    AuditWriter(database, keys).seal()
    wrong = other(ring)
    with pytest.raises(WrongKeys):
        check(database, wrong)
    check(database, keys)
    assert known(database) == fingerprints(keys)[0]


@pytest.fixture
def served(tmp_path, database_url):
    return new_instance(tmp_path / "served", database_url, "default")


@pytest.fixture
def app(served, database_url, database):
    with database.connected():
        Instance.update(key_fingerprint=None).execute()
    adopt(database, Keys.load(served / "secret.key"))
    made = make_app(served, database_url)
    yield made
    close(made)


def token(app):
    user = Given(app, "default").user(password=PASSWORD)
    login = {"email": user.email, "password": PASSWORD}
    return app.test_client().post("/api/login", json=login).get_json()["access_token"]


def status(app, token):
    return app.test_client().get("/api/profile", headers={"Authorization": f"Bearer {token}"}).status_code


def test_a_service_goes_on_with_its_keys_when_the_file_becomes_another_one(app, served, caplog):
    file, before = served / "secret.key", token(app)
    right = file.read_bytes()
    other(file)
    assert (status(app, before), status(app, token(app))) == (200, 200)
    assert "not those of this database" in caplog.text
    file.write_bytes(right)
    rotate(file)
    after = token(app)
    assert (status(app, before), status(app, after)) == (200, 200)


def test_a_service_does_not_start_with_other_keys(app, served, database_url):
    other(served / "secret.key")
    with pytest.raises(WrongKeys):
        make_app(served, database_url)


def test_a_service_follows_keys_that_were_forgotten(app, served, database):
    before = token(app)
    rotate_known(database, served / "secret.key", forget=True)
    forget_older(served / "secret.key")
    app.extensions["gatepost"].keys.refresh()
    assert (status(app, before), status(app, token(app))) == (401, 200)
