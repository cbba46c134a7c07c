"""`gatepost policy review`: all users and roles in a complete, private file without formulas, or no file."""

from __future__ import annotations

import csv
import stat

import pytest

from blueprints.access_review import commands
from gatepost.http.security.passwords import UNUSABLE
from models.base import Record, Rows, now
from models.engine.errors import Damaged
from models.tables import reviews
from models.tables.identity import Identity
from models.tables.passkey import Passkey
from models.tables.second_factor import SecondFactor
from models.tables.user import User
from tests.policies.editing import add_line
from tests.running import PASSWORD

NOBODY = "0199f3a0-0000-7000-8000-0000000000ff"


@pytest.fixture(scope="module")
def ids(instance) -> dict[str, str]:
    """The ids by e-mail of Zoe, who has a lent role and a rule of her own, and Max, who is disabled and has a rule."""
    for email, role in (("zoe@example.org", "editor"), ("max@example.org", "user")):
        instance.run("user", "add", email, "--role", role, "--password-file", "-", input=PASSWORD)
    instance.run("user", "disable", "max@example.org")
    instance.run("tenant", "add", "other")
    instance.run("user", "add", "+eve@example.org", "--tenant", "other", "--password-file", "-", input=PASSWORD)
    instance.run("token", "add", "zoe@example.org", "--scope", "read:articles", "--name", "program")
    return {row["email"].lstrip("'"): row["user"] for row in rows(instance, "ids")}


@pytest.fixture(scope="module")
def policies(instance, ids):
    add_line(instance.folder / "policies" / "roles.csv", f"g, user:{ids['zoe@example.org']}, support")
    add_line(instance.folder / "policies" / "orders.csv", f"p, user:{ids['zoe@example.org']}, order.refund, own, allow")
    add_line(instance.folder / "policies" / "orders.csv", f"p, user:{ids['max@example.org']}, order.ship, own, allow")
    add_line(instance.folder / "policies" / "orders.csv", f"p, user:{NOBODY}, order.ship, own, allow")


def rows(instance, name: str, code: int = 0) -> list[dict[str, str]]:
    file = instance.folder / f"{name}.csv"
    done = instance.run("policy", "review", "--csv", str(file), "--overwrite")
    assert done.returncode == code, done.stderr
    with file.open(newline="") as read:
        return list(csv.DictReader(read))


def of(found: list[dict[str, str]], email: str) -> dict[str, str]:
    """Returns role → how the user got it."""
    return {row["role"]: row["how"] for row in found if row["email"] == email}


def test_each_role_of_a_person_has_a_row_that_says_how_they_got_it(instance, policies):
    found = rows(instance, "roles", 1)
    zoe = of(found, "zoe@example.org")
    assert zoe["editor"] == "stored" and zoe["support"].startswith("lent by roles.csv:")
    assert zoe["guest"].startswith("inherited from editor; inherited from support, lent by roles.csv:")
    assert {row["personal_lines"].partition(":")[0] for row in found if row["email"] == "zoe@example.org"} == {
        "orders.csv"}
    assert {row["tokens"] for row in found if row["email"] == "zoe@example.org"} == {"1"}


def test_lines_that_name_nobody_or_a_disabled_user_are_named(instance, ids, policies):
    found = rows(instance, "orphans", 1)
    (nobody,) = [row for row in found if row["user"] == NOBODY]
    assert nobody["remark"] == "rules name a user that does not exist" and nobody["personal_lines"]
    assert {(row["active"], row["remark"]) for row in found if row["email"] == "max@example.org"} == {
        ("false", "rules name a disabled user")}
    done = instance.run("policy", "review", "--csv", str(instance.folder / "again.csv"))
    assert f"rules name a user that does not exist: user:{NOBODY} (orders.csv:" in done.stderr


def test_it_says_when_somebody_logged_in_last_and_was_seen_last(instance, ids):
    with instance.answering() as served:
        served.call("GET", "/api/profile", token=served.log_in("zoe@example.org", PASSWORD))
    found = rows(instance, "used", 1)
    zoe = next(row for row in found if row["email"] == "zoe@example.org")
    assert zoe["last_login"] and zoe["last_use"] >= zoe["last_login"]
    eve = next(row for row in found if row["email"] == "'+eve@example.org")
    assert (eve["last_login"], eve["last_use"], eve["tokens"]) == ("", "", "0")


def test_it_says_how_each_user_can_log_in(instance, ids):
    zoe, eve = ids["zoe@example.org"], ids["+eve@example.org"]
    with instance.database() as database:
        def add(id: str, *rows: Record) -> None:
            with database.connected():
                tenant_id = User.by_id(id).tenant_id
            database.transact(lambda: [Rows(type(row), tenant_id).insert(row) for row in rows])

        def key(id: str, name: str) -> Passkey:
            return Passkey(owner_id=id, name=name, rp_id="example.org", credential_id=f"{name} of {id}", public_key="k",
                           sign_count=0)

        add(zoe, key(zoe, "one"), key(zoe, "two"), Identity(owner_id=zoe, issuer="https://a.example", subject="zoe"))
        add(eve, SecondFactor(owner_id=eve, secret="s", confirmed_at=now()))
        add(ids["max@example.org"], SecondFactor(owner_id=ids["max@example.org"], secret="not confirmed"))
        database.transact(lambda: User.update(groups=["a", "b"], email_verified_at=now()).where(
            User.id == zoe).execute())
        database.transact(lambda: User.update(password_hash=UNUSABLE).where(User.id == eve).execute())
    names = ("groups", "password", "second_factor", "passkeys", "identities")
    found = {row["email"].lstrip("'"): tuple(row[name] for name in names) for row in rows(instance, "ways", 1)
             if row["email"]}
    assert found["zoe@example.org"] == ("a; b", "true", "false", "2", "https://a.example")
    assert found["+eve@example.org"] == ("", "false", "true", "0", "")
    assert found["max@example.org"] == ("", "true", "false", "0", "")
    verified = {row["email"] for row in rows(instance, "verified", 1) if row["email_verified_at"]}
    assert verified == {"zoe@example.org"}


def test_no_cell_is_a_formula_and_only_the_operator_can_read_the_file(instance, ids):
    found = rows(instance, "formulas", 1)
    assert {row["email"] for row in found if row["tenant"] == "other"} == {"'+eve@example.org"}
    assert stat.S_IMODE((instance.folder / "formulas.csv").stat().st_mode) == 0o600


def test_a_file_that_is_there_is_left_alone(instance):
    file = instance.folder / "mine.csv"
    file.write_text("mine")
    assert instance.run("policy", "review", "--csv", str(file)).returncode == 2
    assert file.read_text() == "mine"


def test_where_something_cannot_be_read_there_is_a_sentence_and_no_file(instance, monkeypatch):
    def torn(unusable):
        yield from list(reviews.accounts(unusable))[:1]
        raise Damaged("page 7 of users is damaged")

    monkeypatch.setattr(commands, "accounts", torn)
    file = instance.folder / "torn.csv"
    done = instance.run("policy", "review", "--csv", str(file))
    assert (done.returncode, file.exists()) == (2, False)
    assert "page 7 of users is damaged" in done.stderr


def test_rules_that_cannot_be_used_leave_no_file_either(instance):
    edited = instance.folder / "policies" / "pages.csv"
    text = edited.read_text()
    edited.write_text(text.replace("# end", "p, nobody, page.view, always, allow\n# end"))
    try:
        done = instance.run("policy", "review", "--csv", str(instance.folder / "broken.csv"))
    finally:
        edited.write_text(text)
    assert (done.returncode, (instance.folder / "broken.csv").exists()) == (2, False)


def test_users_are_read_a_few_at_a_time_and_none_is_left_out(instance, ids, monkeypatch):
    whole = rows(instance, "whole", 1)
    monkeypatch.setattr(reviews, "AT_ONCE", 2)
    assert rows(instance, "parts", 1) == whole
