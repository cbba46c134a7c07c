"""Paths with a secret, such as the token of a one-time link: logs and problem documents show the declared path instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import unquote


def without_secret(path: str, secret_paths: Collection[str]) -> str:
    """Returns a path without its secret: `/password/<token>` for `/password/x7k…`.

    `secret_paths` are declared paths. A path that no endpoint has counts too, if it differs only in case, slashes,
    escapes or what stands before: the client may have damaged a valid link.
    """
    plain = unquote(path)
    return next((one for one in secret_paths if _beginning(one).search(plain)), path)


def without_secrets(text: str, secret_paths: Collection[str]) -> str:
    """Replaces such paths in a text, each up to the next white space, quotation mark or question mark."""
    for one in secret_paths:
        text = _whole(one).sub(one.replace("\\", r"\\"), text)
    return text


@lru_cache
def _beginning(path: str) -> re.Pattern[str]:
    return re.compile(_of(path), re.IGNORECASE)


@lru_cache
def _whole(path: str) -> re.Pattern[str]:
    return re.compile(rf"""{_of(path)}(?!<)[^\s"'?]+""", re.IGNORECASE)


def _of(path: str) -> str:
    return re.escape(path.partition("<")[0]).replace("/", "/+")
