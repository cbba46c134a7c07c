"""Sending over SMTP to a real server: replies, silence, TLS, login, Unicode, and texts that must not become headers."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from urllib.parse import quote

import pytest

from blueprints.mail import letters, smtp
from gatepost.http.protocol.messages import Message, Translations
from settings import SettingError, Settings
from tests.mail.post_office import PASSWORD, USER, certificate, post_office

ENGLISH = Translations("en").in_language()


def settings(port, scheme="smtp+plain", login="", host="127.0.0.1", **more):
    return Settings.load("unused", {"smtp_url": f"{scheme}://{login}{host}:{port}", "mail_from": "gate@example.org",
                                    "public_url": "https://api.example.org/base", **more}, environ={})


def letter(subject="Subject", text="Text"):
    return letters.Letter(Message(subject), (Message(text),))


def send(chosen, to="ada@example.org", content=None):
    smtp.deliver(chosen, letters.composed(chosen, ENGLISH, to, content or letter(), "id-of-job"))


def fails(chosen, **more):
    with pytest.raises(smtp.Undelivered) as caught:
        send(chosen, **more)
    return caught.value


def test_a_message_arrives_with_its_headers():
    with post_office() as office:
        send(settings(office.port, mail_from="Gate of Köln <gate@köln.example>"))
    [message], [envelope] = office.messages, office.envelopes
    assert envelope.rcpt_tos == ["ada@example.org"]
    assert envelope.mail_from == "gate@xn--kln-sna.example"
    assert message["From"] == "Gate of Köln <gate@xn--kln-sna.example>"
    assert message["Message-ID"] == "<id-of-job@xn--kln-sna.example>"
    assert (message["Auto-Submitted"], message["Content-Language"]) == ("auto-generated", "en")
    assert message.get_content_type() == "text/plain"
    assert message["Date"] is not None


def test_subject_text_and_domain_may_be_in_unicode():
    text = "Größe 日本 🚪 https://api.example.org/console/password/" + "a" * 120 + "\n\n.\n\n.end"
    with post_office() as office:
        send(settings(office.port), "ada@größe.example", letter("Größe 日本", text))
    [message], [envelope] = office.messages, office.envelopes
    assert message["Subject"] == "Größe 日本"
    assert office.texts() == [text + "\n"]
    assert envelope.rcpt_tos == ["ada@xn--gre-6ka8i.example"]
    assert envelope.content.isascii(), "also servers without 8BITMIME take it"


def test_a_local_part_in_unicode_needs_a_server_that_takes_it():
    with post_office(enable_SMTPUTF8=True) as office:
        send(settings(office.port), "ädå@example.org")
    assert office.envelopes[0].rcpt_tos == ["ädå@example.org"]
    with post_office(enable_SMTPUTF8=False) as office:
        assert fails(settings(office.port), to="ädå@example.org").final


@pytest.mark.parametrize(("command", "reply", "final"), [
    ("RCPT", "451 4.7.1 <ada@example.org> greylisted", False),
    ("DATA", "452 4.3.1 disk full", False),
    ("RCPT", "550 5.1.1 <ada@example.org> unknown", True),
    ("DATA", "554 5.7.1 refused", True),
    ("RCPT", "421 4.3.2 shutting down", False),
])
def test_a_reply_of_4xx_may_be_retried_and_5xx_is_final(command, reply, final):
    with post_office() as office:
        office.replies.append((command, reply))
        failure = fails(settings(office.port))
    assert failure.final is final
    assert str(failure) == f"the mail server answered {reply[:3]}", "without the address"
    assert failure.reply == reply
    assert office.messages == []


@contextmanager
def raw_server(serve):
    """Calls `serve(connection)` for one connection, in a thread. Yields its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        connection, _ = listener.accept()
        with connection:
            serve(connection)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
        thread.join(10)


def test_a_silent_server_is_given_up(monkeypatch):
    monkeypatch.setattr(smtp, "TIMEOUT", 0.2)
    over = threading.Event()
    with raw_server(lambda connection: over.wait(10)) as port:
        failure = fails(settings(port))
        over.set()
    assert (failure.final, str(failure)) == (False, "the mail server does not answer in time")


def test_a_server_that_drips_bytes_is_given_up(monkeypatch):
    """Each byte comes in time, and the line never ends."""
    monkeypatch.setattr(smtp, "LONGEST", 0.5)
    over = threading.Event()

    def drip(connection):
        try:
            while not over.wait(0.02):
                connection.send(b"2")
        except OSError:
            pass

    with raw_server(drip) as port:
        failure = fails(settings(port))
        over.set()
    assert not failure.final


@pytest.mark.parametrize("talk", [b"", b"554 go away\r\n", b"\xff\xfe\x00\r\n", b"2" * 9000, b"220\r\n250 x\r\n",
                                  b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_whatever_the_server_says_before_the_message_may_pass(talk, monkeypatch):
    monkeypatch.setattr(smtp, "TIMEOUT", 1.0)

    def serve(connection):
        try:
            connection.sendall(talk)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1000):
                pass
        except OSError:
            pass

    with raw_server(serve) as port:
        assert not fails(settings(port)).final


def test_a_server_that_is_away_may_come_back():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert not fails(settings(port)).final
    assert not fails(settings(25, host="no-such-host.invalid")).final


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_tls_and_login(scheme, tmp_path, monkeypatch):
    context, file = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    login = f"{USER}:{quote(PASSWORD, safe='')}@"
    with post_office(tls=context, at_once=scheme == "smtps", login=True) as office:
        send(settings(office.port, scheme, login, "localhost"))
        assert (office.encrypted, office.logins) == ([True], [(USER, PASSWORD)])
        failure = fails(settings(office.port, scheme, f"{USER}:wrong@", "localhost"))
    assert (str(failure), failure.final) == ("the mail server answered 535", False), "the operator mends the password"
    assert len(office.messages) == 1


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_certificate_of_another_host_or_authority_is_refused(scheme, tmp_path, monkeypatch):
    for host, trusted in (("other.example", True), ("localhost", False)):
        context, file = certificate(tmp_path, host)
        monkeypatch.setenv("SSL_CERT_FILE", str(file) if trusted else str(tmp_path / "none.pem"))
        with post_office(tls=context, at_once=scheme == "smtps", login=True) as office:
            failure = fails(settings(office.port, scheme, f"{USER}:secret@", "localhost"))
        assert str(failure) == "the connection to the mail server cannot be encrypted"
        assert office.logins == [], "the password was not sent"


def test_without_starttls_nothing_is_sent():
    """A server in between could remove the offer."""
    with post_office() as office:
        failure = fails(settings(office.port, "smtp", f"{USER}:secret@"))
    assert (str(failure), failure.final) == ("the mail server lacks an extension", False)
    assert (office.logins, office.offered) == ([], 0)


@pytest.mark.parametrize("bad", ["ada@example.org\r\nBcc: eve@example.org", "ada@example.org\nX: y", "a\0@example.org"])
def test_an_address_cannot_add_headers(bad):
    with post_office() as office, suppress(ValueError, smtp.Undelivered):
        send(settings(office.port), bad)
    assert all(envelope.rcpt_tos == [bad] and "eve" not in str(message["Bcc"])
               for envelope, message in zip(office.envelopes, office.messages, strict=True))
    assert "\n" not in bad or office.messages == []


def test_a_subject_cannot_add_headers():
    with pytest.raises(ValueError, match="newline|linefeed"):
        letters.composed(settings(25), ENGLISH, "ada@example.org", letter("Hello\r\nBcc: eve@example.org"), "id")


@pytest.mark.parametrize(("name", "value"), [
    ("smtp_url", "http://host"), ("smtp_url", "smtp://"), ("smtp_url", "host:25"), ("smtp_url", "smtp://host:99999"),
    ("smtp_url", "smtp://user@host"), ("smtp_url", "smtp+plain://user:secret@host"), ("smtp_url", "smtp://host/path"),
    ("smtp_url", "smtp://host?x=y"), ("smtp_url", "smtp://[::1"), ("smtp_url", "smtp://a%0ab:c@host"),
    ("smtp_url", "smtp://host:x"), ("mail_from", "gate"), ("mail_from", "a@b\nBcc: c@d"), ("mail_from", "<a@b"),
    ("mail_from", 'A "B" <a@b>'), ("mail_from", "a@b, c@d"), ("mail_from", "A <a@b> x"),
])
def test_an_unusable_setting_is_refused_without_its_secret(name, value):
    with pytest.raises(SettingError) as caught:
        Settings.load("unused", {name: value}, environ={})
    assert name in str(caught.value)
    assert "secret" not in str(caught.value)


def test_addresses_of_servers_have_the_usual_ports():
    from settings.kinds import smtp_server

    assert smtp_server("smtps://u:p%40@mail.example.org") == ("smtps", "mail.example.org", 465, "u", "p@")
    assert smtp_server("smtp://mail.example.org/").port == 587
    assert smtp_server("smtp+plain://[::1]") == ("smtp+plain", "::1", 25, "", "")
