"""Second factors and commands: keys are rotated, and lost; a factor is removed; doctor, export and erasure."""

from __future__ import annotations

import json
from dataclasses import replace
from time import time
from typing import Any

import pyotp
import pytest

from models.base import Rows, now
from models.tables.identity import Identity
from models.tables.second_factor import SecondFactor
from models.tables.user import User
from tests.databases import new_database
from tests.running import PASSWORD, Instance

OWN = "/api/profile/second-factor"
ADA = {"email": "ada@example.org", "password": PASSWORD}


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.both_databases)])
def instance(request: pytest.FixtureRequest, tmp_path_factory) -> Instance:
    """An instance with the user Ada."""
    more = {} if request.param == "sqlite" else {
        "GATEPOST_DATABASE_URL": new_database(request.param, request, migrated=False)}
    made = Instance(tmp_path_factory.mktemp("made") / "instance", more).made()
    assert made.run("user", "add", ADA["email"], "--password-file", "-", input=PASSWORD).returncode == 0
    return made


class Ada:
    """A user with a phone; each code is that of the step before, of now, or of the next one."""

    def __init__(self, service: Any) -> None:
        self.service = service
        status, login = service.call("POST", "/api/login", ADA)
        assert status == 200, login
        _, begun = service.call("POST", OWN, {}, login["access_token"])
        self.app = pyotp.TOTP(begun["secret"])
        status, confirmed = service.call("POST", f"{OWN}/confirm", {"code": self.code(-1)},
                                         login["access_token"])
        assert status == 200, confirmed
        self.recovery_codes = confirmed["recovery_codes"]

    def code(self, step: int) -> str:
        return str(self.app.at(int(time()) + 30 * step))

    def sent(self, code: str) -> int:
        """Logs in with the password and a code, and returns the last status."""
        status, first = self.service.call("POST", "/api/login", ADA)
        assert status == 401 and first["code"] == "login_incomplete", first
        challenge = first["errors"][0]["meta"]["challenge"]
        return int(self.service.call("POST", "/api/login/verify", {"challenge": challenge, "code": code})[0])


def doctor(instance: Instance) -> str:
    return next(line for line in instance.run("doctor").stdout.splitlines() if "second_factors" in line)


def test_keys_are_rotated_and_lost(instance):
    assert "no user has one" in doctor(instance)
    with instance.answering() as service:
        ada = Ada(service)
        assert "1 user has one" in doctor(instance)
        for options in ((), ("--forget",)):
            assert instance.run("keys", "rotate", *options).returncode == 0
            assert "1 user has one" in doctor(instance), options
        assert ada.sent(ada.code(0)) == 200, "the server reads the new keys at once"
        assert instance.run("user", "remove-second-factor", "nobody@example.org").returncode == 1
    (instance.folder / "secret.key").unlink()
    assert instance.run("init", "--new-key", "--no-demo").returncode == 0
    found = doctor(instance)
    assert "the secrets of 1 were encrypted with other keys" in found
    with instance.answering() as service:
        ada.service = service
        assert ada.sent(ada.code(1)) == 409
        assert ada.sent(ada.recovery_codes[0]) == 200
        done = instance.run("user", "remove-second-factor", "Ada@Example.org")
        assert done.returncode == 0 and "no second factor any more" in done.stdout, done.stderr
        assert service.call("POST", "/api/login", ADA)[0] == 200
        again = instance.run("user", "remove-second-factor", ADA["email"])
        assert again.returncode == 1 and "ada@example.org has no second factor." in again.stderr
    assert "remove_second_factor" in instance.run("audit", "tail").stdout


def test_it_is_exported_without_the_secret_and_erased(instance):
    with instance.answering() as service:
        Ada(service)
        service.call("POST", "/api/login", ADA)
    file = instance.folder / "ada.ndjson"
    assert instance.run("user", "export", ADA["email"], str(file)).returncode == 0
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    [row] = [line["row"] for line in lines if line["about"] == "second factors"]
    assert row.keys() == {"created_at", "confirmed_at", "recovery_codes"} and row["confirmed_at"] is not None
    assert row["recovery_codes"] == 10, "the number alone"
    done = instance.run("user", "erase", ADA["email"], "--yes")
    assert done.returncode == 0, done.stderr
    assert "second factors" in done.stdout and "logins that wait for a code" in done.stdout
    assert "no user has one" in doctor(instance)


@pytest.mark.both_databases
def test_doctor_counts_what_no_longer_counts_without_the_feature(instance):
    environment = {**instance.environment, "GATEPOST_WITHOUT": "accounts"}
    without = replace(instance, environment=environment)

    def finding() -> str:
        [line] = [line for line in without.run("doctor").stdout.splitlines() if "  accounts " in line]
        return line

    assert finding().split() == ["ok", "accounts", "left", "out", "(setting", "without)"]
    body = {"email": "eva@example.org", "password": PASSWORD}
    assert instance.run("user", "add", body["email"], "--password-file", "-", input=PASSWORD).returncode == 0
    with instance.database() as database, database.connected():
        eva = User.by_email(body["email"])
    assert eva is not None
    rows = [SecondFactor(owner_id=eva.id, secret="not confirmed"), Identity(owner_id=eva.id, issuer="i", subject="s")]
    with instance.database() as database:
        database.transact(lambda: [Rows(type(row), eva.tenant_id).insert(row) for row in rows])
    assert finding().startswith("FAIL")
    assert "one of 0 passkeys and 1 identities at providers" in finding()
    assert "second factor" not in finding()
    with instance.database() as database:
        database.transact(lambda: SecondFactor.update(confirmed_at=now()).where(
            SecondFactor.owner_id == eva.id).execute())
    assert "1 user logs in without the code of their second factor: the password alone is enough" in finding()
    assert "  accounts " not in instance.run("doctor").stdout
    with without.answering() as service:
        assert service.call("POST", "/api/login", body)[0] == 200, "as doctor says"
