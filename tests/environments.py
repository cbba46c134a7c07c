"""A new Python environment that uses the libraries of the one that runs the tests, without the network."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path


def borrowing(folder: Path) -> Path:
    """Returns the Python of a new environment in the folder. Packages installed there are installed nowhere else."""
    venv.create(folder, symlinks=True, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "posix_prefix", paths))
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin" / "python"
