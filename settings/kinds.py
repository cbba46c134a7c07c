"""Kinds of values of settings: marshmallow fields whose errors describe the allowed values."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from zoneinfo import available_timezones

from marshmallow import ValidationError, fields, validate

_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?|https?://\[[0-9a-f:.]+\](:\d{1,5})?")

_BASE = re.compile(r"(?:https?://[^\x00-\x20\x7f/?#@\\\"<>]+(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)*/*)?\Z")


class Whole(fields.Integer):
    """A whole number. Refuses TOML's ``true`` and ``1.5``, which Python would convert."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> int:
        if isinstance(value, bool | float):
            raise self.make_error("invalid", input=value)
        return super()._deserialize(value, attr, data, **kwargs)


def whole(low: int, high: int) -> fields.Field[Any]:
    """Returns a field for a whole number within these bounds."""
    allowed = f"a whole number from {low} to {high}"
    return Whole(validate=validate.Range(low, high, error=allowed), error_messages={"invalid": allowed})


class _Names(fields.Field[tuple[str, ...]]):
    """A list of names; in the environment, names separated by spaces or commas."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> tuple[str, ...]:
        names = value.replace(",", " ").split() if isinstance(value, str) else value
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise ValidationError('a list of names, such as ["comments", "pages"]')
        return tuple(dict.fromkeys(names))


def names() -> fields.Field[Any]:
    """Returns a field for a list of names."""
    return _Names()


def choice(*choices: str) -> fields.Field[Any]:
    """Returns a field for one of these words."""
    return fields.String(validate=validate.OneOf(choices, error=f"one of {', '.join(choices)}"))


def text(pattern: str, allowed: str) -> fields.Field[Any]:
    """Returns a field for text that matches the whole pattern; `allowed` describes the pattern in words."""
    shape = validate.Regexp(rf"(?:{pattern})\Z", error=allowed)
    return fields.String(validate=shape, error_messages={"invalid": allowed})


def switch() -> fields.Field[Any]:
    """Returns a field for on or off."""
    on, off = {"on", "true", "1", True}, {"off", "false", "0", False}
    return fields.Boolean(truthy=on, falsy=off, error_messages={"invalid": "on or off"})


def seconds(low: float, high: float) -> fields.Field[Any]:
    """Returns a field for a number of seconds within these bounds."""
    allowed = f"seconds from {low:g} to {high:g}"
    within = validate.Range(low, high, error=allowed)
    return fields.Float(validate=within, error_messages={"invalid": allowed, "special": allowed})


def url_of(*schemes: str) -> fields.Field[Any]:
    """Returns a field for a URL of one of these schemes, or the empty text."""
    allowed = "a URL that starts with " + " or ".join(f"{scheme}://" for scheme in schemes)

    def check(value: str) -> None:
        scheme, separator, rest = value.partition("://")
        if value and not (separator and rest and scheme in schemes):
            raise ValidationError(allowed)

    return fields.String(validate=check)


TLS, STARTTLS, PLAIN = "smtps", "smtp", "smtp+plain"
_ADDRESS, _NAME = r'[^\s<>@"(),:;\\\[\]\x00-\x1f]+@[^\s<>@"(),:;\\\[\]\x00-\x1f]+', r'[^<>@"\\\x00-\x1f]+'
_SMTP_PORTS = {TLS: 465, STARTTLS: 587, PLAIN: 25}


class SmtpServer(NamedTuple):
    """A mail server. `security` is the scheme of its URL: `TLS` from the start, `STARTTLS`, or `PLAIN`."""

    security: str
    host: str
    port: int
    user: str
    password: str


def smtp_server(url: str) -> SmtpServer:
    """Reads the URL of a mail server. Raises ValueError."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    port = parts.port or _SMTP_PORTS.get(parts.scheme, 0)
    if (not port or not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment
            or not url.isprintable() or " " in url or bool(user) != bool(password)
            or (user and parts.scheme == PLAIN) or not f"{user}{password}".isprintable()):
        raise ValueError(url)
    return SmtpServer(parts.scheme, parts.hostname, port, user, password)


def smtp_url() -> fields.Field[Any]:
    """Returns a field for the URL of a mail server, or the empty text."""
    allowed = ("smtps://user:password@host (TLS), smtp://user:password@host (STARTTLS), or smtp+plain://host without "
               "a password; special characters in user and password as %40")

    def check(value: str) -> None:
        if value:
            try:
                smtp_server(value)
            except ValueError:
                raise ValidationError(allowed) from None

    return fields.String(validate=check, error_messages={"invalid": allowed})


def mail_sender() -> fields.Field[Any]:
    """Returns a field for an address with or without a name, or the empty text."""
    return text(rf"({_ADDRESS}|{_NAME} <{_ADDRESS}>)?",
                "an address such as gate@example.org, or Name <gate@example.org>")


def domain() -> fields.Field[Any]:
    """Returns a field for a domain in lower case, in Punycode if need be, or the empty text. An IP address is none."""
    label = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
    return text(rf"(?:(?:{label}\.)+(?![0-9]+\Z){label}|localhost)?", "a domain such as example.org, and no IP address")


def base_url() -> fields.Field[Any]:
    """Returns a field for an http or https URL to append paths to, or the empty text.

    Its path may have only characters that are safe in headers, cookies and pages.
    """
    allowed = "a URL such as https://example.org/gate, whose path has letters, digits, ., _, ~, - and single slashes"
    return fields.String(validate=validate.Regexp(_BASE, error=allowed), error_messages={"invalid": allowed})


def known_time_zone(value: str) -> None:
    """Raises ValidationError for an unknown time zone."""
    if value not in available_timezones():
        raise ValidationError("a name of the IANA time zone database, such as Europe/Berlin")


def by_role(what: str, high: int) -> fields.Field[Any]:
    """Returns a field for a table of whole numbers from 1 to `high`, by role."""
    wrong = f"a table of role = {what}"
    return fields.Dict(keys=fields.String(), values=whole(1, high), error_messages={"invalid": wrong})


def known_origins(value: str) -> None:
    """Raises ValidationError unless all are `*` or origins as browsers send them (RFC 6454 section 6.2).

    An origin has a scheme, a host, a port, and nothing else.
    """
    for origin in value.split():
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise ValidationError("origins such as https://app.example.org, separated by spaces, or *")
