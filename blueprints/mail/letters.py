"""Letters: short plain texts in the language of their reader.

A letter has no name of a user and no other text that a user wrote. Otherwise a stranger could open an account, and send
a text of their own to any address.
"""

from __future__ import annotations

from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from gatepost.http.protocol.messages import Message, Translation, plural
from settings import Settings

from .smtp import recipient, sender


class Letter(NamedTuple):
    """Subject and paragraphs. In each, `{service}` is the host of `public_url`."""

    subject: Message
    paragraphs: tuple[Message | str, ...]


def composed(settings: Settings, translation: Translation, to: str, letter: Letter, id: str) -> EmailMessage:
    """Returns the message to one address. `id` names it for the servers: a second copy has the same name."""
    origin, message = sender(settings), EmailMessage()
    message["From"], message["To"] = origin, recipient(to)
    message["Subject"] = translation.say(letter.subject)
    message["Date"] = format_datetime(datetime.now(UTC))
    message["Message-ID"] = f"<{id}@{origin.domain}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no automatic answers
    text = "\n\n".join(translation.say(paragraph) for paragraph in letter.paragraphs)
    message.set_content(f"{text}\n", cte="quoted-printable")
    message["Content-Language"] = translation.tag  # last, because `set_content` removes it
    return message


def service(settings: Settings) -> str:
    """Returns the name of the service in letters: the host of `public_url`."""
    return urlsplit(settings.url).netloc


def trial(settings: Settings) -> Letter:
    """Returns the letter of `gatepost mail test`."""
    name = service(settings)
    return Letter(Message("Test message of {service}", service=name),
                  (Message("This is a test message of {service}. Mail works.", service=name),))


def link(settings: Settings, url: str, *, invited: bool) -> Letter:
    """Returns the letter with a link to choose a password: one that was asked for, or an invitation."""
    name, hours = service(settings), settings.password_link_hours
    if invited:
        begin = Message("Welcome to {service}. Choose a password for your account here:", service=name)
        end = Message("If you did not expect this message, you need not do anything. Do not pass the link on.")
    else:
        begin = Message("You can choose a new password for your account on {service} here:", service=name)
        end = Message("If you did not ask for it, you need not do anything: your password stays as it is. "
                      "Do not pass the link on.")
    valid = plural("The link is valid once, and for {number} hour.",
                   "The link is valid once, and for {number} hours.", hours)
    return Letter(Message("Choose a password for {service}", service=name), (begin, url, valid, end))
