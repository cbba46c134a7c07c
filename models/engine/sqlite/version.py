"""Which versions of SQLite are safe."""

from __future__ import annotations


def check_version(version: str) -> None:
    """Refuse a SQLite that can lose committed writes in WAL mode (the WAL-reset bug of 3.7.0–3.51.2).

    The fix was also published as 3.44.6 and 3.50.7. Raises RuntimeError.
    """
    number = tuple(int(part) for part in version.split("."))[:3]
    if number >= (3, 51, 3) or (3, 50, 7) <= number < (3, 51) or (3, 44, 6) <= number < (3, 45):
        return
    raise RuntimeError(f"SQLite {version} can lose committed writes: install apsw with 3.51.3 or newer")
