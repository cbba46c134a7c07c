"""`gatepost mail test`, and the check of `gatepost doctor`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from blueprints.mail import smtp
from blueprints.mail.checks import check
from blueprints.mail.commands import mail
from gatepost.features import Installation
from gatepost.health.check_result import State
from settings import Settings
from tests.mail.post_office import post_office


@pytest.fixture
def office(monkeypatch, tmp_path):
    with post_office() as office:
        monkeypatch.setenv("GATEPOST_INSTANCE", str(tmp_path))
        monkeypatch.setenv("GATEPOST_SMTP_URL", f"smtp+plain://127.0.0.1:{office.port}")
        monkeypatch.setenv("GATEPOST_MAIL_FROM", "gate@example.org")
        monkeypatch.setenv("GATEPOST_PUBLIC_URL", "https://api.example.org")
        yield office


def run(address="ada@example.org"):
    return CliRunner().invoke(mail, ["test", address])


def test_a_test_message_arrives(office):
    done = run("Ada@Example.org")
    assert (done.exit_code, done.output) == (0, "The mail server took the message for ada@example.org.\n")
    assert office.messages[0]["Subject"] == "Test message of api.example.org"
    assert office.texts() == ["This is a test message of api.example.org. Mail works.\n"]


def test_it_is_in_the_language_of_the_service(office, monkeypatch):
    monkeypatch.setenv("GATEPOST_LANGUAGE", "de")
    run()
    assert office.messages[0]["Subject"] == "Testnachricht von api.example.org"
    assert office.messages[0]["Content-Language"] == "de"


def test_the_operator_sees_the_reply_of_the_server(office):
    office.replies.append(("RCPT", "550 5.7.1 relaying denied"))
    done = run()
    assert done.exit_code == 1
    assert "The message was not sent: the mail server answered 550 (550 5.7.1 relaying denied)." in done.output


@pytest.mark.parametrize("address", ["ada", "", "ada@example.org\nX: y", "a b@example.org"])
def test_another_text_is_no_address(address, office):
    done = run(address)
    assert done.exit_code == 1
    assert "is not an e-mail address" in done.output
    assert office.offered == 0


def test_it_names_what_is_not_set(office, monkeypatch):
    monkeypatch.delenv("GATEPOST_MAIL_FROM")
    monkeypatch.delenv("GATEPOST_PUBLIC_URL")
    assert "Mail is off. Set first: mail_from, public_url." in run().output


def finding():
    return check(Installation(Settings.load(), None))  # type: ignore[arg-type]


def test_the_doctor_connects_and_sends_nothing(office, monkeypatch):
    assert finding().state is State.OK
    assert office.offered == 0
    monkeypatch.delenv("GATEPOST_MAIL_FROM")
    assert finding() == (State.DEGRADED, "off: smtp_url is set, but not mail_from")
    monkeypatch.delenv("GATEPOST_SMTP_URL")
    assert finding() == (State.OK, "off: smtp_url is not set")


@pytest.mark.parametrize("setting", [("GATEPOST_CONSOLE", "false"), ("GATEPOST_WITHOUT", "console")])
def test_the_doctor_says_that_links_lead_nowhere_without_the_console(setting, office, monkeypatch):
    monkeypatch.setenv(*setting)
    state, detail = finding()
    assert state is State.DEGRADED
    assert "/console/password/<token> and /console/verify-email/<token>" in detail


def test_the_doctor_reports_a_server_that_is_away(office, monkeypatch):
    monkeypatch.setattr(smtp, "TIMEOUT", 0.5)
    monkeypatch.setenv("GATEPOST_SMTP_URL", "smtp+plain://127.0.0.1:1")
    assert finding() == (State.DEGRADED, "the mail server cannot be reached, or has closed the connection")
