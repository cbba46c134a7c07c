"""An app whose rules change over HTTP, with trials that run in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask

from gatepost.rules.history import HistoryWriter
from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import Form, Seen, Visitor

TRY, APPLY, HISTORY = "/console/try", "/console/try/apply", "/console/history"


@contextmanager
def editable(request: pytest.FixtureRequest, folder: Path) -> Iterator[Flask]:
    """An app on a database without other nodes, so that rules can be edited."""
    url = new_database("sqlite", request)
    made = make_app(new_instance(folder / "instance", url, "default", "other"), url, policy_edit="on")
    yield made
    close(made)


@pytest.fixture
def edited(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """An app whose rules the test changes."""
    with editable(request, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def unedited(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An app for tests that try changes of the rules but do not apply them."""
    with editable(request, tmp_path_factory.mktemp("unedited")) as made:
        yield made


def live(app: Flask) -> str:
    return str(app.extensions["gatepost"].policy.current.version)


def store_history(app: Flask) -> None:
    """Writes the versions that were in force to the policy history, with their changes."""
    services = app.extensions["gatepost"]
    settings = services.settings
    HistoryWriter(services.database, settings.instance, services.registry.vocabulary, services.guest_tenant, {},
                  settings.policies).store()


def stored(app: Flask, name: str) -> str:
    """Returns the text of a rule file on the disk."""
    return (app.extensions["gatepost"].settings.policies / name).read_text()


def with_line(text: str, line: str) -> str:
    return text.replace("# end", f"{line}\n# end")


def form_of(visitor: Visitor, name: str) -> Form:
    """The form to edit a file."""
    return edit_form(visitor.page(f"{TRY}?file={name}"))


def edit_form(seen: Seen) -> Form:
    """The form of the editor, with the fields and buttons beside it. A browser drops the first line break."""
    form = seen.form(TRY)
    form.fields["text"] = form.fields["text"].removeprefix("\n")
    return form


def tried(visitor: Visitor, form: Form, **changed: str) -> Seen:
    """Returns the page after a try of the form with these fields."""
    answer = visitor.post(TRY, {**form.fields, **changed})
    assert answer.status_code == 200, answer.text
    return Seen.of(answer)
