"""Paths with a secret: what logs and problem documents show instead."""

from __future__ import annotations

import json
import logging

import pytest

from gatepost.http.operations import logs
from gatepost.http.protocol.secret_paths import without_secret, without_secrets

DECLARED = ("/console/password/<token>",)


@pytest.mark.parametrize("path", [
    "/console/password/x7k", "/console/password/x7k/", "/console//password/x7k", "/CONSOLE/Password/x7k",
    "/base/console/password/x7k", "/console%2Fpassword%2fx7k", "/console/password/", "/console/password/x7k/more"])
def test_a_path_with_a_secret_is_shown_as_declared(path):
    assert without_secret(path, DECLARED) == "/console/password/<token>"


@pytest.mark.parametrize("path", ["/", "/console/password", "/console/passwords/x", "/api/users/password", ""])
def test_other_paths_are_shown(path):
    assert without_secret(path, DECLARED) == path
    assert without_secrets(f"a {path} b", DECLARED) == f"a {path} b"


@pytest.mark.parametrize(("text", "shown"), [
    ("Client disconnected while serving /console/password/x7k", "Client disconnected while serving {}"),
    ('GET "/console/password/x7k?lang=de" 200', 'GET "{}?lang=de" 200'),
    ("/console/password/a /Console//password/b", "{} {}"), ("{} as declared", "{} as declared")])
def test_a_text_is_shown_without_secrets(text, shown):
    path = DECLARED[0]
    assert without_secrets(text.replace("{}", path), DECLARED) == shown.replace("{}", path)


def test_every_line_of_the_log_is_without_secrets(app):
    record = logging.makeLogRecord({"name": "waitress", "levelno": logging.INFO, "levelname": "INFO",
                                    "msg": "Client disconnected while serving /console/password/x7k"})
    record.fields = {"path": "/console/password/x7k", "status": 200}
    line = json.loads(logs.JsonFormatter().format(record))
    assert line["message"] == "Client disconnected while serving /console/password/<token>"
    assert (line["path"], line["status"]) == ("/console/password/<token>", 200)
