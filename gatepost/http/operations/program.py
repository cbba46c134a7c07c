"""Identity of the program: its version, and the commit or build of its files."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

DIGITS = 12
_HOME = Path(__file__).resolve().parents[3]


@cache
def version() -> str:
    """Returns the version of the installed distribution, such as `0.1.0`."""
    return distribution("gatepost").version


@cache
def build() -> str:
    """Returns `commit 1a2b3c4d5e6f` in a checkout, `build 1a2b3c4d5e6f` for an installed wheel, else `build unknown`.

    Two nodes with the same build run the same files.
    """
    try:
        if (commit := _commit(_HOME / ".git")) is not None:
            return f"commit {commit[:DIGITS]}"
        # The RECORD names each installed file with its hash.
        record = distribution("gatepost").read_text("RECORD")
    except (OSError, PackageNotFoundError):
        record = None
    return f"build {sha256(_files(record).encode()).hexdigest()[:DIGITS] if record else 'unknown'}"


def described() -> str:
    """Returns version and build as text: `0.1.0 (commit 1a2b3c4d5e6f)`."""
    return f"{version()} ({build()})"


def _files(record: str) -> str:
    """Returns the lines of a RECORD about files of the wheel, without scripts and caches of the installer."""
    return "\n".join(sorted(line for line in record.splitlines()
                            if line.split(",", 1)[0].endswith((".py", ".csv", ".conf", ".html", ".po", ".js", ".css"))))


def _commit(git: Path) -> str | None:
    """Returns the checked-out commit; None outside a checkout. Raises OSError."""
    if git.is_file():  # a worktree, or a submodule
        git = (git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
    if not (git / "HEAD").is_file():
        return None
    head = (git / "HEAD").read_text(encoding="utf-8").strip()
    if not head.startswith("ref:"):
        return head
    name, common = head.removeprefix("ref:").strip(), git / "commondir"
    shared = (git / common.read_text(encoding="utf-8").strip()).resolve() if common.is_file() else git
    if (shared / name).is_file():
        return (shared / name).read_text(encoding="utf-8").strip()
    for line in (shared / "packed-refs").read_text(encoding="utf-8").splitlines():
        if line.endswith(f" {name}"):
            return line.split(" ", 1)[0]
    return None
