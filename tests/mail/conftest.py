"""An app whose mail goes to a server of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from blueprints.mail import endpoints
from gatepost.http.pipeline.application import Application
from tests.apps import close, make_app
from tests.mail.post_office import PostOffice, post_office

URL = "https://api.example.org/base"


@pytest.fixture(scope="module")
def office_of_module() -> Iterator[PostOffice]:
    with post_office() as office:
        yield office


@pytest.fixture
def office(office_of_module: PostOffice) -> PostOffice:
    office_of_module.begin_anew()
    return office_of_module


@contextmanager
def serving(folder: Path, database_url: str, office: PostOffice, **more: Any) -> Iterator[Application]:
    """Serves an app whose mail goes to that server. No thread runs its jobs: `run_jobs` does."""
    app = make_app(folder, database_url, **{"smtp_url": f"smtp+plain://127.0.0.1:{office.port}",
                                            "mail_from": "gate@example.org", "public_url": URL, **more})
    try:
        yield app
    finally:
        close(app)


@pytest.fixture(autouse=True)
def mailed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A requested link is due at once, so that `run_jobs` sends it."""
    monkeypatch.setattr(endpoints, "SPREAD", 0.0)


@pytest.fixture(scope="module")
def mailing(instance_folder, database_url, office_of_module) -> Iterator[Application]:
    with serving(instance_folder, database_url, office_of_module) as app:
        yield app
