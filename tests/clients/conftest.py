"""Both OpenAPI documents as files, taken from a running service, and a service on each server."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost.collections.plugins.discovery import discover
from gatepost.http.openapi.document import document
from tests.clients.page_origin import one_origin
from tests.clients.tools import require_tools
from tests.http.resources.letters.letters import Letters
from tests.running import Instance, Served

DOCUMENTS = ("openapi.json", "openapi-3.0.json")


@pytest.fixture(scope="session", autouse=True)
def _tools() -> None:
    require_tools()


@pytest.fixture(scope="session")
def instance(_tools: None, tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """An instance whose administrator is `admin@example.org`, without rows of a demo."""
    return Instance(tmp_path_factory.mktemp("clients") / "instance").made()


@pytest.fixture(scope="session", params=["waitress", "granian"])
def service(instance: Instance, request: pytest.FixtureRequest) -> Iterator[Served]:
    """The instance, served on a free port of the loopback address."""
    with instance.served(*(("--workers", "2") if request.param == "granian" else ())) as served:
        yield served


@pytest.fixture(scope="session")
def below(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a service below a path, which a proxy removes."""
    folder = tmp_path_factory.mktemp("below")
    settings = {"GATEPOST_RATE_LIMITS": "off", "GATEPOST_PUBLIC_URL": "http://api.example.org/gate"}
    with (Instance(folder / "instance", settings).made().served() as service,
          one_origin(folder, service.url, "/gate") as origin):
        yield f"{origin.url}/gate"


@pytest.fixture(scope="session")
def documents(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name → file of `/api/openapi.json` and `/api/openapi-3.0.json`."""
    folder = tmp_path_factory.mktemp("documents")
    with instance.served() as served:
        for name in DOCUMENTS:
            with urllib.request.urlopen(f"{served.url}/api/{name}", timeout=30) as answer:
                (folder / name).write_bytes(answer.read())
    return {name: folder / name for name in DOCUMENTS}


@pytest.fixture(scope="session")
def extended(_tools: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The document of an instance with a plugin that adds the collection `letters`."""
    path = tmp_path_factory.mktemp("extended") / "openapi.json"
    path.write_bytes(document(discover([Letters]), "3.1.0"))
    return path
