"""Keys that change while in use: rotated under load, replaced permanently, and published."""

from __future__ import annotations

import base64
import hmac
import itertools
import json
import threading
from types import SimpleNamespace

import jwt
import pytest

from gatepost.http.auditing.writer import sealer
from gatepost.http.security.keys import OVERLAP, Keys, Master, encode, new_master, rotate
from gatepost.http.security.known_keys import rotate_known
from models.base import later
from models.tables import seals
from tests.apps import PASSWORD, Given, close, make_app, new_instance
from tests.databases import new_database
from tests.running import Instance


@pytest.fixture
def folder(tmp_path, request):
    url = new_database("sqlite", request)
    return SimpleNamespace(path=new_instance(tmp_path / "instance", url, "default"), url=url,
                           keys=tmp_path / "instance" / "secret.key")


@pytest.fixture
def serve(folder):
    """Makes an app on the folder. Several apps act like several processes."""
    made = []

    def start(**settings):
        app = make_app(folder.path, folder.url, **settings)
        made.append(app)
        return app

    yield start
    for app in made:
        close(app)


def log_in(app):
    user = Given(app, "default").user(password=PASSWORD)
    return app.test_client().post("/api/login", json={"email": user.email, "password": PASSWORD}).get_json()


def status(app, token, path="/api/profile"):
    return app.test_client().get(path, headers={"Authorization": f"Bearer {token}"}).status_code


def kid(token):
    return jwt.get_unverified_header(token)["kid"]


def test_a_running_app_signs_with_the_new_key_and_accepts_both(folder, serve):
    app = serve()
    before = log_in(app)["access_token"]
    rotate(folder.keys)
    after = log_in(app)["access_token"]
    assert kid(before) != kid(after)
    assert (status(app, before), status(app, after)) == (200, 200)


def test_a_process_that_has_not_noticed_yet_accepts_what_another_signed(folder, serve):
    here, there = serve(), serve()
    assert status(there, log_in(here)["access_token"]) == 200
    rotate(folder.keys)
    assert status(there, log_in(here)["access_token"]) == 200


def test_cursors_and_refresh_tokens_outlive_a_rotation(folder, serve):
    here, there = serve(), serve()
    given = Given(here, "default")
    for _ in range(3):
        given.article()
    pair = log_in(here)

    def page(app, cursor=""):
        return app.test_client().get(f"/api/articles?limit=1{cursor}").get_json()

    def exchange(app, token):
        return app.test_client().post("/api/token/refresh", json={"refresh_token": token})

    old = page(here)["next_cursor"]
    first = exchange(here, pair["refresh_token"]).get_json()
    rotate(folder.keys)
    assert exchange(there, pair["refresh_token"]).get_json()["refresh_token"] == first["refresh_token"]
    here.extensions["gatepost"].keys.refresh()
    new = page(here)["next_cursor"]
    assert page(there, f"&cursor={old}")["items"] == page(there, f"&cursor={new}")["items"] != []
    assert exchange(there, first["refresh_token"]).status_code == 200


def test_a_forgotten_key_proves_nothing_any_more(folder, serve):
    app = serve()
    pair = log_in(app)
    assert status(app, pair["access_token"]) == 200
    services = app.extensions["gatepost"]
    rotate_known(services.database, folder.keys, forget=True)
    services.keys.refresh()
    assert status(app, pair["access_token"]) == 401
    answer = app.test_client().post("/api/token/refresh", json={"refresh_token": pair["refresh_token"]})
    assert answer.status_code == 200, "its session is in the database, not in the key"


def write(file, *masters):
    file.write_text("\n".join(f"{encode(each.secret)} {each.made or ''}".strip() for each in masters))
    file.chmod(0o600)


@pytest.mark.parametrize(("ago", "verifies"), [(0, True), (OVERLAP - 60, True), (OVERLAP + 60, False)])
def test_a_replaced_key_verifies_for_longer_than_what_it_signed_lives(ago, verifies, tmp_path):
    new, old = Master(new_master().secret, later(-ago)), Master(new_master().secret, later(-10**7))
    write(tmp_path / "secret.key", new, old)
    keys = Keys.load(tmp_path / "secret.key")
    assert len(keys.ring("cursor")) == (2 if verifies else 1)
    assert len(keys.every("audit seal")) == 2, "what must be provable for good has them all"


def test_a_broken_key_file_leaves_the_keys_as_they_were(folder, serve, caplog):
    app = serve()
    token = log_in(app)["access_token"]
    folder.keys.write_text("not a key")
    assert log_in(app)["access_token"] and status(app, token) == 200
    assert "keys stay as they were" in caplog.text


@pytest.mark.parametrize(("algorithm", "kty"), [("ES256", "EC"), ("EdDSA", "OKP")])
def test_others_verify_tokens_by_the_published_keys(algorithm, kty, folder, serve):
    app = serve(token_algorithm=algorithm)
    first = log_in(app)["access_token"]
    rotate(folder.keys)
    second = log_in(app)["access_token"]
    answer = app.test_client().get("/.well-known/jwks.json")
    published = jwt.PyJWKSet.from_dict(answer.get_json())
    assert {(key["kty"], key["alg"], key["use"]) for key in answer.get_json()["keys"]} == {(kty, algorithm, "sig")}
    assert "d" not in {name for key in answer.get_json()["keys"] for name in key}
    for token in (first, second):
        found = jwt.decode(token, published[kid(token)], algorithms=[algorithm], audience="gatepost", issuer="gatepost")
        assert found["sid"] and status(app, token) == 200


def test_a_shared_secret_is_not_published(serve):
    assert serve().test_client().get("/.well-known/jwks.json").status_code == 404


def test_one_algorithm_is_accepted_at_a_time(serve):
    apps = {algorithm: serve(token_algorithm=algorithm) for algorithm in ("HS256", "ES256", "EdDSA")}
    tokens = {algorithm: log_in(app)["access_token"] for algorithm, app in apps.items()}
    accepted = {(signed, served) for signed, served in itertools.product(apps, repeat=2)
                if status(apps[served], tokens[signed]) == 200}
    assert accepted == {(algorithm, algorithm) for algorithm in apps}
    assert {status(apps[served], tokens[signed]) for signed, served in itertools.permutations(apps, 2)} == {401}


def test_a_public_key_is_no_shared_secret(folder, serve):
    """A known attack signs with HS256 and the published key."""
    app = serve(token_algorithm="EdDSA")
    token = log_in(app)["access_token"]
    published = app.test_client().get("/.well-known/jwks.json").get_json()["keys"][0]
    header = _base64(json.dumps({"alg": "HS256", "typ": "at+jwt", "kid": kid(token)}).encode())
    signed = b".".join((header, token.split(".")[1].encode()))
    for secret in (json.dumps(published), published["x"]):
        forged = b".".join((signed, _base64(hmac.digest(secret.encode(), signed, "sha256")))).decode()
        assert status(app, forged) == 401


def _base64(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def test_the_command_shows_generations_and_never_keys(tmp_path):
    instance = Instance(tmp_path / "instance").made()
    rotated = instance.run("keys", "rotate")
    listed = instance.run("keys", "list")
    assert rotated.returncode == listed.returncode == 0 and rotated.stdout.startswith(listed.stdout)
    first, second = listed.stdout.splitlines()
    assert first.endswith("signs") and "verifies until" in second
    secrets = [line.split()[0] for line in (instance.folder / "secret.key").read_text().splitlines()[1:]]
    assert len(secrets) == 2 and not any(secret in listed.stdout for secret in secrets)
    only, backup = instance.run("keys", "rotate", "--forget").stdout.splitlines()
    assert only.endswith("signs") and backup.startswith("Backup: ")


@pytest.mark.slow
def test_a_server_that_is_restarted_under_load_with_a_rotated_key_refuses_no_token(tmp_path):
    instance = Instance(tmp_path / "instance", {"GATEPOST_RATE_LIMITS": "off"}).made()
    refused, asked, stop = [], [], threading.Event()
    with instance.served() as steady:
        tokens = [steady.log_in()]

        def load():
            while not stop.is_set():
                for token in tuple(tokens):
                    answer = steady.call("GET", "/api/profile", token=token)
                    asked.append(1)
                    if answer[0] != 200:
                        refused.append(answer)

        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(2):
                assert instance.run("keys", "rotate").returncode == 0
                with instance.served() as restarted:
                    tokens.append(restarted.log_in())
                    assert [restarted.call("GET", "/api/profile", token=token)[0] for token in tokens] == [
                        200] * len(tokens)
                tokens.append(steady.log_in())
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert refused == [] and len(asked) > 100
    assert len({kid(token) for token in tokens}) == 3


def test_seals_stay_provable_after_a_rotation(folder, serve):
    app = serve()
    services = app.extensions["gatepost"]
    log_in(app)
    services.audit_writer.seal()
    rotate(folder.keys)
    services.keys.refresh()
    log_in(app)
    services.audit_writer.seal()
    verdict = seals.verify(services.database, sealer(services.keys))
    assert (verdict.findings, verdict.unsealed) == ([], 0)
    with services.database.connected():
        assert len({seal.head.partition(":")[0] for seal in seals.heads()}) == 2, "each key sealed something"
