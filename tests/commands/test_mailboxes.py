"""`gatepost doctor` lists accounts that share a mailbox, and undeliverable addresses, and says what to do."""

from __future__ import annotations

import peewee as pw
import pytest

from models.tables.user import User
from tests.running import PASSWORD, Instance

MAILBOX, IN_PUNYCODE, WIDE = "noor@münchen.example", "noor@xn--mnchen-3ya.example", "ｎｏｏｒ@münchen.example"


@pytest.fixture
def stored(instance: Instance, tmp_path):
    """Creates users with these addresses in a new instance. Returns their ids."""
    own = instance.copied(tmp_path / "own")

    def make(*emails: str) -> list[str]:
        ids = []
        app = own.app()
        database = app.extensions["gatepost"].database
        for number, email in enumerate(emails):
            done = own.run("user", "add", f"{number}@example.org", "--password-file", "-", input=PASSWORD)
            ids.append(done.stdout.split()[-1].strip("."))
            with database.connected():
                raw = pw.Value(email, converter=False)
                database.transact(lambda id=ids[-1], raw=raw: User.update(email=raw).where(User.id == id).execute())
        database.close_all()
        return ids

    make.instance = own
    return make


def doctor(instance: Instance) -> tuple[str, str]:
    """Returns the mark and the text of the finding about addresses."""
    lines = instance.run("doctor").stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.split()[1:2] == ["mailboxes"])
    end = next(number for number, line in enumerate(lines) if number > start and not line.startswith("      "))
    return lines[start].split()[0], "\n".join(lines[start:end])


def test_addresses_in_the_one_spelling_are_well(instance):
    mark, said = doctor(instance)
    assert (mark, said.endswith("all addresses are normalized")) == ("ok", True)


def test_accounts_of_one_mailbox_and_impossible_addresses_are_listed_with_their_ids(stored):
    first, second, third, fourth, _ = stored(IN_PUNYCODE, MAILBOX, WIDE, "a@b..org", "fine@example.org")
    mark, said = doctor(stored.instance)
    assert mark == "FAIL"
    assert "1 mailbox has accounts in other spellings" in said and "1 address that cannot receive mail" in said
    [accounts] = [line for line in said.splitlines() if line.strip().startswith(f"{MAILBOX}: ")]
    assert accounts.strip() == (f"{MAILBOX}: {second} {MAILBOX}, " + ", ".join(
        f"{id} {email}" for id, email in sorted([(first, IN_PUNYCODE), (third, WIDE)])))
    assert f"{fourth} a@b..org" in said and "fine@example.org" not in said
    assert "PATCH /api/users/<id>" in said and "gatepost user erase <id>" in said


def test_few_are_named_of_many(stored):
    stored(*(f"a@b..{number}" for number in range(23)))
    _, said = doctor(stored.instance)
    assert "23 addresses that cannot receive mail" in said and said.splitlines()[-1].strip() == "and 3 others"
    assert len(said.splitlines()) == 22


def test_what_doctor_says_is_what_helps(stored):
    first, second = stored(IN_PUNYCODE, MAILBOX)
    with stored.instance.answering() as service:
        token = service.log_in()
        body = {"email": "other@example.org"}
        assert service.call("PATCH", f"/api/users/{second}", body, token=token)[0] == 200
        status, changed = service.call("PATCH", f"/api/users/{first}", {"email": IN_PUNYCODE}, token=token)
    assert (status, changed["email"]) == (200, MAILBOX)
    assert doctor(stored.instance)[0] == "ok"
