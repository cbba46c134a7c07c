"""Load from `wrk`: one thread, on the same machine as the server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FEW = 32  # answers: two of each connection
Measure = Callable[[int], float]  # duration in seconds → requests a second
_RATE = re.compile(r"Requests/sec:\s+([\d.]+)")
_UNEXPECTED = re.compile(r"Non-2xx or 3xx responses: (\d+)")


@dataclass(frozen=True)
class Request:
    """A request that is sent repeatedly. In `body`, `{n}` becomes another number each time.

    also  paths of other rows: with such a body, the rows take turns
    """

    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: str = ""
    connections: int = 16
    also: Sequence[str] = ()


def require_wrk() -> None:
    """Ends the benchmark with a message if `wrk` is missing."""
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing, so nothing was measured (Debian: apt install wrk).")


def measure(url: str, request: Request, seconds: int) -> float:
    """Measures answered requests a second. A refused request ends the measurement.

    If too few are answered for a stable figure, it measures five times as long.
    """
    rate = _measure(url, request, seconds)
    return rate if rate * seconds > FEW else _measure(url, request, 5 * seconds)


def _measure(url: str, request: Request, seconds: int) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_script(request))
        script.flush()
        command = ["wrk", "-t1", f"-c{request.connections}", f"-d{seconds}s", "--timeout", "60s", "-s", script.name,
                   url + request.path]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if refused := _UNEXPECTED.search(output):
        sys.exit(f"{request.method} {request.path}: {refused[1]} answers were refused; this measures nothing.")
    return float(_RATE.search(output)[1])  # type: ignore[index]


def ask(url: str, request: Request) -> tuple[int, Mapping[str, str], Any]:
    """One request: status, headers and JSON of the answer."""
    data = request.body.replace("{n}", "0").encode() or None
    made = urllib.request.Request(url + request.path, data, dict(request.headers), method=request.method)
    with urllib.request.urlopen(made) as answer:
        raw = answer.read()
        return answer.status, answer.headers, json.loads(raw) if raw else None


def _script(request: Request) -> str:
    headers = "".join(f"wrk.headers[{_lua(name)}] = {_lua(value)}\n" for name, value in request.headers.items())
    start = f"wrk.method = {_lua(request.method)}\n{headers}"
    if "{n}" not in request.body:
        return start + (f"wrk.body = {_lua(request.body)}\n" if request.body else "")
    # A random beginning, so that a second run makes other rows than the first.
    before, after = request.body.split("{n}")
    return start + (
        "math.randomseed(os.time() + tonumber(tostring({}):sub(8), 16))\n"
        "local run, n = math.random(1, 2^30), 0\n"
        f"local paths = {{{', '.join(_lua(path) for path in (request.path, *request.also))}}}\n"
        "request = function()\n  n = n + 1\n"
        "  local path = paths[n % #paths + 1]\n"
        f"  return wrk.format(nil, path, nil, {_lua(before)} .. run .. '-' .. n .. {_lua(after)})\nend\n")


def _lua(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
