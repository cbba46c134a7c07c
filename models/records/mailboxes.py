"""E-mail addresses: one mailbox has one spelling, however a client writes it.

The stored and shown spelling is in lower case. Its local part is in NFKC, so that full-width letters become ordinary
ones. Its domain is normalized by UTS 46, and its labels are Unicode (U-labels, RFC 5890): people read and type those,
and older rows contain them. A label in Punycode means the same: browsers convert typed labels to it.

Addresses are refused that RFC 5321 (section 4.1.2, with RFC 6531) and RFC 5322 do not allow. Quoted local parts and
addresses of hosts in brackets are refused too, because no host serves them.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

LONGEST = 254  # octets of an address (RFC 5321 section 4.5.3.1.3: a path has 256, with its brackets)
_LONGEST_LOCAL = 64  # octets (RFC 5321 section 4.5.3.1.1)
_ATEXT = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]"
# A label in ASCII as `idna` allows it. A label with hyphens in its third and fourth place may be Punycode.
_LABEL = r"(?!..--)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_LABELS = rf"(?:{_LABEL}\.)*(?![0-9]+\Z){_LABEL}"
_DOMAIN = re.compile(_LABELS)
_PLAIN = re.compile(rf"(?=[^@]{{1,{_LONGEST_LOCAL}}}@){_ATEXT}+(?:\.{_ATEXT}+)*@{_LABELS}")
_DOTTED = re.compile(rf"(?:{_ATEXT}|[^\x00-\x7f])+(?:\.(?:{_ATEXT}|[^\x00-\x7f])+)*")


class _Mailbox(NamedTuple):
    """Parts of a normalized address; `in_ascii` is the domain in Punycode."""

    local: str
    domain: str
    in_ascii: str


def normalize(address: str) -> str | None:
    """Returns the normalized spelling of the mailbox; None for an impossible address."""
    parts = _read(address)
    return None if parts is None else f"{parts.local}@{parts.domain}"


def mailbox(address: str) -> str:
    """Returns the spelling to store: the normalized one, or the former one of an impossible address."""
    return normalize(address.strip()) or former_spelling(address)


def former_spelling(address: str) -> str:
    """Returns the spelling in which addresses were stored before they were normalized."""
    return unicodedata.normalize("NFC", address.strip()).lower()


def fold(part: str) -> str:
    """Returns a part of an address, such as its beginning, normalized as far as that is possible without the rest."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", part).lower())


def in_punycode(address: str) -> str:
    """Returns the normalized address with its domain in Punycode; an impossible address unchanged."""
    parts = _read(address)
    return address if parts is None else f"{parts.local}@{parts.in_ascii}"


def spellings(address: str) -> tuple[str, ...]:
    """Returns the stored spellings that `address` can mean, the likeliest first: the given one."""
    text, parts = address.strip(), _read(address.strip())
    normal = () if parts is None else (f"{parts.local}@{parts.domain}", f"{parts.local}@{parts.in_ascii}")
    return tuple(dict.fromkeys((text, former_spelling(text), *normal)))


def _read(address: str) -> _Mailbox | None:
    if len(address) > LONGEST:
        return None  # before anything slow: `idna` takes 30 µs for each label
    if _PLAIN.fullmatch(small := address.lower()):
        local, _, domain = small.partition("@")
        return _Mailbox(local, domain, domain)
    local, at, domain = address.rpartition("@")
    local = fold(local)
    if not (at and local.isprintable() and len(local.encode()) <= _LONGEST_LOCAL and _DOTTED.fullmatch(local)):
        return None
    labels = _labels(domain)
    if labels is None or len(local.encode()) + 1 + len(labels[1]) > LONGEST:
        return None
    return _Mailbox(local, *labels)


def _labels(domain: str) -> tuple[str, str] | None:
    """Returns a domain in Unicode and in Punycode; None for an impossible one."""
    if _DOMAIN.fullmatch(small := domain.lower()):
        return small, small
    import idna  # few addresses need it, and its tables take milliseconds to load

    try:
        in_ascii = idna.encode(domain, uts46=True, std3_rules=True).decode()
        in_unicode = idna.decode(in_ascii)
    except UnicodeError:
        return None
    return None if in_ascii.endswith(".") or in_ascii.rpartition(".")[2].isdigit() else (in_unicode, in_ascii)
