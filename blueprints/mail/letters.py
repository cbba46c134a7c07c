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
    return urlsplit(settings.public_url).netloc


def trial(settings: Settings) -> Letter:
    """Returns the letter of `gatepost mail test`."""
    name = service(settings)
    return Letter(Message("Test message of {service}", service=name),
                  (Message("This is a test message of {service}. Mail works.", service=name),))


def link(settings: Settings, url: str, *, invited: bool) -> Letter:
    """Returns the letter with a link to choose a password. It is an invitation for a user who has none yet."""
    name, hours = service(settings), settings.password_link_hours
    if invited:
        subject = Message("Invitation to {service}", service=name)
        begin = Message("Welcome to {service}. Choose a password for your account here:", service=name)
        end = Message("If you did not expect this message, you need not do anything. Do not pass the link on.")
    else:
        subject = Message("Choose a password for {service}", service=name)
        begin = Message("You can choose a new password for your account on {service} here:", service=name)
        end = Message("If you did not ask for it, you need not do anything: your password stays as it is. "
                      "Do not pass the link on.")
    return Letter(subject, (begin, url, _valid(hours), end))


def verification(settings: Settings, url: str, hours: int) -> Letter:
    """Returns the letter with a link to verify the address of an account."""
    name = service(settings)
    return Letter(Message("Verify your e-mail address for {service}", service=name), (
        Message("Verify that this is the e-mail address of your account on {service} here:", service=name), url,
        _valid(hours), Message("The page asks for the password of your account, unless you are logged in."),
        Message("If you did not enter this address on {service}, do not verify it: somebody else entered it.",
                service=name)))


def _valid(hours: int) -> Message:
    return plural("The link is valid once, and for {number} hour.", "The link is valid once, and for {number} hours.",
                  hours)


def password_changed(settings: Settings, at: str, *, dropped: bool = False) -> Letter:
    """Returns the notice of a new password. `dropped`: a link has removed other credentials, too."""
    name = service(settings)
    more = (Message("Other ways to log in to it, and its service tokens, were removed, because its e-mail address had "
                    "not been verified before: somebody else may have added them."),) if dropped else ()
    return _notice(Message("Your password on {service} was changed", service=name), Message(
        "The password of your account on {service} was changed at {time}.", service=name, time=_readable(at)), *more)


def email_changed(settings: Settings, at: str) -> Letter:
    """Returns the notice of another e-mail address, for the former one."""
    name = service(settings)
    return _notice(Message("Your e-mail address on {service} was changed", service=name), Message(
        "The e-mail address of your account on {service} was changed at {time}. Messages no longer go to this address.",
        service=name, time=_readable(at)))


def second_factor_added(settings: Settings, at: str) -> Letter:
    """Returns the notice of a new second factor."""
    name = service(settings)
    return _notice(Message("Your account on {service} has a second factor", service=name), Message(
        "A second factor was added to your account on {service} at {time}. A login now needs a code, too.",
        service=name, time=_readable(at)))


def second_factor_removed(settings: Settings, at: str) -> Letter:
    """Returns the notice of a second factor that was removed."""
    name = service(settings)
    return _notice(Message("The second factor of your account on {service} was removed", service=name), Message(
        "The second factor of your account on {service} was removed at {time}. The password alone is enough for a "
        "login.", service=name, time=_readable(at)))


def passkey_added(settings: Settings, at: str) -> Letter:
    """Returns the notice of a new passkey."""
    name = service(settings)
    return _notice(Message("Your account on {service} has a new passkey", service=name), Message(
        "A passkey was added to your account on {service} at {time}. Who has its device can log in with it.",
        service=name, time=_readable(at)))


def passkey_removed(settings: Settings, at: str) -> Letter:
    """Returns the notice of a passkey that was removed."""
    name = service(settings)
    return _notice(Message("A passkey of your account on {service} was removed", service=name), Message(
        "A passkey of your account on {service} was removed at {time}.", service=name, time=_readable(at)))


def login(settings: Settings, address: str, at: str) -> Letter:
    """Returns the notice of a login from a new network."""
    name = service(settings)
    return _notice(Message("New login on {service}", service=name), Message(
        "There was a login to your account on {service} at {time}, from the address {address}. In the last 30 days "
        "there was none from there.", service=name, time=_readable(at), address=address))


def _notice(subject: Message, *events: Message) -> Letter:
    end = Message("If this was you, you need not do anything. Otherwise choose a new password, "
                  "and tell an administrator at once.")
    return Letter(subject, (*events, end))


def _readable(time: str) -> str:
    return f"{time[:10]} {time[11:16]} UTC"
