"""An instance of version 0.1, and the way back to it by hand (docs/running/upgrades.md)."""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

from tests.running import ROOT, Instance

MADE = Path(__file__).parent / "commands" / "instance_of_0_1"
_COMMANDS = re.search(r"## The way back\n(.*?)\n## ", (ROOT / "docs/running/upgrades.md").read_text(), re.DOTALL)
assert _COMMANDS is not None
EVERYWHERE, ON_SQLITE, ON_POSTGRES = re.findall(r"```\n(.*?)```", _COMMANDS[1], re.DOTALL)


def files_of_0_1(folder: Path) -> None:
    """Puts the old rules and keys into an empty folder."""
    shutil.copytree(MADE / "policies", folder / "policies")
    shutil.copyfile(MADE / "secret.key", folder / "secret.key")
    (folder / "secret.key").chmod(0o600)
    folder.chmod(0o700)


def sqlite_of_0_1(folder: Path) -> Instance:
    """Creates the instance in an empty folder, on SQLite."""
    files_of_0_1(folder)
    (folder / "gatepost.db").write_bytes(gzip.decompress((MADE / "gatepost.db.gz").read_bytes()))
    return Instance(folder)


def go_back(instance: Instance, commands: str, **environment: str) -> None:
    """Runs the documented commands on a migrated instance. Afterwards it has the old rules and keys."""
    backup, = (instance.folder / "backups").glob("before-migration-*.tar.gz")
    script = (EVERYWHERE + commands).replace("before-migration-TIME.tar.gz", backup.name)
    done = subprocess.run(["bash", "-euc", script], cwd=instance.folder, env={**instance.environ(), **environment},
                          capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    for name in ("secret.key", *(f"policies/{file.name}" for file in (MADE / "policies").iterdir())):
        assert (instance.folder / name).read_bytes() == (MADE / name).read_bytes(), name
