"""The proof of a backup: it is restored to a scratch folder, and the service starts there and answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from flask import Flask
from flask.testing import FlaskClient

from gatepost.http.request.call import Services
from gatepost.http.security.passwords import hash_password
from models.base import Rows
from models.engine.database import Database
from models.scratch import scratch
from models.tables.tenant import Tenant
from models.tables.user import User
from settings import Settings

from .archive import BadArchive
from .staging import Staged, staged

AppFactory = Callable[[Mapping[str, Any]], Flask]
# Settings of the proof: the service must change nothing outside of the scratch folder, and must not refuse a request.
_APART = {"rate_limits": "off", "run_jobs": "off", "redis_url": "", "backup_hours": 0, "log_requests": "off",
          "metrics_token": "", "require_if_match": "off"}


def prove(create_app: AppFactory, settings: Settings, live: Database, migrations: Mapping[str, Path], archive: Path,
          identity: Path | None = None) -> Staged:
    """Restores a backup to a scratch folder, starts the service, logs in and lists each collection.

    Removes it all at the end, and returns a description. Raises the errors of `staged`, and BadArchive if the service
    does not start or answer.
    """
    parent = settings.instance if settings.instance.is_dir() else None
    with scratch(parent) as folder, staged(archive, folder, live, migrations, identity) as backup:
        if backup.remarks:
            raise BadArchive(f"The audit log in the backup is not complete: {backup.remarks[0]}")
        _answer(create_app, settings, backup)
        return backup


def _answer(create_app: AppFactory, settings: Settings, backup: Staged) -> None:
    password, email = token_urlsafe(18), f"{token_urlsafe(9).lower()}@invalid"
    with backup.database.connected():
        tenant = Tenant.by_name(settings.default_tenant)
        if tenant is None:
            raise BadArchive(f"There is no tenant {settings.default_tenant} in the backup.")
        user = User(name="Proof of a backup", email=email, role="admin", password_hash=hash_password(password))
        backup.database.transact(lambda: Rows(User, tenant.id).insert(user))
    with _started(create_app, backup) as app:
        client = app.test_client()
        answer = client.post("/api/login", json={"email": email, "password": password})
        _expect(client, answer.status_code, "POST /api/login")
        bearer = {"Authorization": f"Bearer {answer.get_json()['access_token']}"}
        services: Services = app.extensions["gatepost"]
        for name in services.collections:
            path = f"/api/{name}?limit=1"
            if any(endpoint.path == f"/api/{name}" and endpoint.method == "GET"
                   for endpoints in services.registry.by_permission.values() for endpoint in endpoints):
                _expect(client, client.get(path, headers=bearer).status_code, f"GET {path}")


def _expect(_: FlaskClient, status: int, request: str) -> None:
    if status != 200:
        raise BadArchive(f"The service that was started from the backup answered {request} with {status}.")


@contextmanager
def _started(create_app: AppFactory, backup: Staged) -> Iterator[Flask]:
    # Warnings at the start of the service are not about the backup.
    logging.disable(logging.WARNING)
    try:
        database = backup.database
        url = f"sqlite:///{database.database}" if database.dialect == "sqlite" else database.database
        try:
            app = create_app({"instance": backup.folder, "database_url": url, **_APART})
        except Exception as error:
            raise BadArchive(f"The service does not start from the backup: {error}") from error
        try:
            yield app
        finally:
            app.extensions["gatepost"].stop()
    finally:
        logging.disable(logging.NOTSET)
