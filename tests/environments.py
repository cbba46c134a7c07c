"""A fresh environment of Python that borrows the libraries of the one which runs the tests: no network is needed."""

from __future__ import annotations

import sysconfig
import venv
from pathlib import Path


def borrowing(folder: Path) -> Path:
    """The Python of a new environment in the folder; what is installed there is installed nowhere else."""
    venv.create(folder, symlinks=True, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "posix_prefix", paths))
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return folder / "bin" / "python"
