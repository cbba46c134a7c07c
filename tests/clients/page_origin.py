"""One origin for a page and the service, as behind a reverse proxy."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript"}
_OWN = {"transfer-encoding", "connection", "content-length", "server", "date"}


@dataclass(frozen=True)
class Origin:
    """told  the bodies that pages have sent to `/told`"""

    url: str
    told: SimpleQueue[str]


@contextmanager
def one_origin(files: Path, service: str, path: str = "") -> Iterator[Origin]:
    """A server on the loopback address. `/api` goes to the service, without its path prefix; all else is a file of the
    folder."""
    told: SimpleQueue[str] = SimpleQueue()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            if self.path.startswith(f"{path}/api/"):
                self._pass_on()
                return
            if self.path == "/told":
                told.put(self._body().decode())
                self._answer(204, {}, b"")
                return
            file = files / self.path.lstrip("/")
            found = file.is_file() and file.suffix in _KINDS
            self._answer(200 if found else 404, {"Content-Type": _KINDS.get(file.suffix, "text/plain")},
                         file.read_bytes() if found else b"")

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

        def _pass_on(self) -> None:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "accept-encoding"}
            request = urllib.request.Request(service + self.path.removeprefix(path), self._body() or None, headers,
                                             method=self.command)
            try:
                answer = urllib.request.urlopen(request, timeout=30)
            except urllib.error.HTTPError as error:
                answer = error
            with answer:
                self._answer(answer.status, dict(answer.headers.items()), answer.read())

        def _body(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _OWN:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Origin(f"http://127.0.0.1:{server.server_port}", told)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
