"""Entity tags (RFC 9110 section 8.8.3): written for answers, and read from `If-Match` and `If-None-Match`.

A row's tag is `"<version>"`. A partial or personalised view adds its own hash: `"<version>-<hash>"`. For a reader who
may not see the version, a keyed hash (`h…`) replaces it. After a restore the version begins with its epoch:
`"<epoch>.<version>"`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from hashlib import sha256

TAG = re.compile(r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"')
# Elements of the list may be empty (RFC 9110 section 5.6.1.2). No two runs of blanks meet: matching takes linear time.
_ELEMENT = rf"[ \t]*+(?:{TAG.pattern}[ \t]*+)?"
TAGS = re.compile(rf"[ \t]*+\*[ \t]*+|{_ELEMENT}(?:,{_ELEMENT})*+")
VERSION = re.compile(r'(W/)?"((?:[0-9a-f]{8}\.)?\d{1,19}|h[0-9a-f]{32})(?:-[0-9a-f]+)?"')


def entity_tag(version: int | str, fingerprint: str | None = None) -> str:
    """Returns the strong ETag of a row's representation."""
    return f'"{version}"' if fingerprint is None else f'"{version}-{fingerprint}"'


def body_hash(body: bytes) -> str:
    """Returns a hash of a representation: sixteen hex digits."""
    return sha256(body).hexdigest()[:16]


def version_of(epoch: str, version: int) -> str:
    """Returns the version for a tag. The same number is another version in another epoch."""
    return f"{epoch}.{version}" if epoch else str(version)


@lru_cache(maxsize=1024)
def view_hash(names: tuple[str, ...]) -> str:
    """Returns the fingerprint of a view of a row. The version and the names of the fields determine the view."""
    return body_hash(",".join(names).encode())


def names_version(tags: str, versions: Collection[str], *, weak: bool) -> bool:
    """True if a list of entity tags has one of these versions; `*` matches any (RFC 9110 section 8.8.3.2).

    weak  also accepts a weak tag of the version
    """
    return tags.strip(" \t") == "*" or not {
        version for prefix, version in VERSION.findall(tags) if weak or not prefix}.isdisjoint(versions)
