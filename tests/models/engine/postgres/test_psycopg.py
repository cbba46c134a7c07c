"""The private parts of psycopg that `models.engine.postgres.connection` relies on."""

from __future__ import annotations

import inspect

import psycopg


def test_psycopg_still_has_what_our_deadlines_are_made_of() -> None:
    sentence = ("psycopg has changed how it waits for the server. Without that no statement on Postgres has a "
                "deadline: look at Connection.wait in models/engine/postgres/connection.py before setup.cfg lets it in")
    assert issubclass(getattr(psycopg.errors, "_WaitTimeout", type(None)), psycopg.OperationalError), sentence
    known = ["self", "gen", "interval", "timeout"]
    assert list(inspect.signature(psycopg.Connection.wait).parameters) == known, sentence
