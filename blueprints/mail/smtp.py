"""Sending of one message over SMTP (RFC 5321), with TLS as the scheme of `smtp_url` says.

A reply of 4xx, a timeout, and an error before the message is offered may pass, so they are retried. A reply of 5xx to
the sender, the recipient or the message is final. Neither an error nor a log has an address or the password.
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.headerregistry import Address
from email.message import EmailMessage
from threading import Timer

from models.records.mailboxes import in_punycode
from settings import Settings
from settings.kinds import STARTTLS, TLS, smtp_server

TIMEOUT = 20.0  # seconds to wait for one answer of the server
LONGEST = 60.0  # seconds of a whole delivery, also with a server that sends one byte at a time


class Undelivered(Exception):
    """Error of a message that was not sent. The text has no address.

    final  a retry would fail, too
    reply  the last reply of the server, for the operator alone: it may have an address
    """

    def __init__(self, text: str, *, final: bool = False, reply: str = "") -> None:
        super().__init__(text)
        self.final, self.reply = final, reply


def sender(settings: Settings) -> Address:
    """Returns the sender, `mail_from`, with its domain in Punycode."""
    name, bracket, rest = settings.mail_from.partition("<")
    return recipient(rest.removesuffix(">"), name.strip()) if bracket else recipient(name)


def recipient(address: str, name: str = "") -> Address:
    """Returns an address for a header. Raises ValueError for a line break in it."""
    local, _, domain = in_punycode(address.strip()).rpartition("@")
    return Address(name, local, domain)


@contextmanager
def connected(settings: Settings) -> Iterator[smtplib.SMTP]:
    """Yields a connection to the server, encrypted and logged in as `smtp_url` says. Raises `Undelivered`."""
    server = smtp_server(settings.smtp_url)
    context = ssl.create_default_context()
    name = sender(settings).domain
    client = (smtplib.SMTP_SSL(timeout=TIMEOUT, local_hostname=name, context=context) if server.security == TLS
              else smtplib.SMTP(timeout=TIMEOUT, local_hostname=name))
    # The name that the certificate must have. The constructor would set it, but also connect, before `end` watches.
    client._host = server.host  # type: ignore[attr-defined]
    end = Timer(LONGEST, _interrupt, (client,))
    end.daemon = True
    end.start()
    try:
        code, reply = client.connect(server.host, server.port)
        if code != 220:
            raise smtplib.SMTPConnectError(code, reply)
        if server.security == STARTTLS:
            client.starttls(context=context)
        client.ehlo_or_helo_if_needed()
        if server.user:
            client.login(server.user, server.password)
        yield client
        with suppress(OSError, smtplib.SMTPException):
            client.quit()
    except (OSError, smtplib.SMTPException) as error:  # also SMTPServerDisconnected
        raise _undelivered(error) from None  # its text may have addresses
    finally:
        end.cancel()
        client.close()


def deliver(settings: Settings, message: EmailMessage) -> None:
    """Sends a message to its one recipient. Raises `Undelivered`."""
    with connected(settings) as client:
        client.send_message(message)


def _interrupt(client: smtplib.SMTP) -> None:
    if client.sock is not None:
        with suppress(OSError):
            client.sock.shutdown(2)


def _undelivered(error: Exception) -> Undelivered:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _answered(*next(iter(error.recipients.values())), of_message=True)
    if isinstance(error, smtplib.SMTPResponseException):
        return _answered(error.smtp_code, error.smtp_error,
                         of_message=isinstance(error, smtplib.SMTPSenderRefused | smtplib.SMTPDataError))
    if isinstance(error, smtplib.SMTPNotSupportedError):
        # Either the server takes no address in Unicode, or it lacks STARTTLS or the login, which is mended there.
        return Undelivered("the mail server lacks an extension", final="SMTPUTF8" in str(error), reply=str(error))
    if isinstance(error, TimeoutError) or "timed out" in str(error):  # smtplib keeps the text alone
        return Undelivered("the mail server does not answer in time")
    if isinstance(error, ssl.SSLError):
        return Undelivered("the connection to the mail server cannot be encrypted", reply=str(error))
    return Undelivered("the mail server cannot be reached, or has closed the connection", reply=str(error))


def _answered(code: int, reply: bytes | str, *, of_message: bool) -> Undelivered:
    text = reply.decode(errors="replace") if isinstance(reply, bytes) else str(reply)
    return Undelivered(f"the mail server answered {code}", final=of_message and 500 <= code < 600,
                       reply=f"{code} {text}")
