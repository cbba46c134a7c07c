"""Paths with a secret, such as the token of a one-time link: logs and problem documents show the declared path instead.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote


def without_secret(path: str, secret_paths: Collection[str]) -> str:
    """Returns a path without its secret: `/password/<token>` for `/password/x7k…`.

    `secret_paths` are declared paths. A path that no endpoint has counts too, if it differs only in case, slashes,
    escapes or what stands before: the client may have damaged a valid link.
    """
    plain = re.sub("/+", "/", unquote(path)).lower()
    return next((one for one in secret_paths if one.partition("<")[0] in plain), path)
