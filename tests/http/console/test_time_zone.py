"""Pages show times in the setting `time_zone`, and read the times of filters in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from models.base import new_id
from models.tables.audit import Audit, append
from tests.apps import close, make_app, new_instance
from tests.databases import new_database
from tests.http.console.pages import Seen, Visitor, visit

TIME, LOCAL = "2026-01-01T20:00:07.000000Z", "2026-01-02 01:30:07"


@pytest.fixture
def kolkata(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    url = new_database("sqlite", request)
    app = make_app(new_instance(tmp_path / "instance", url, "default"), url, time_zone="Asia/Kolkata")
    yield app
    close(app)


@pytest.fixture
def admin(kolkata: Flask) -> Visitor:
    return visit(kolkata, "admin")


@pytest.fixture
def event(kolkata: Flask, admin: Visitor) -> str:
    """The id of an audit event at `TIME`."""
    row = Audit(id=new_id(), tenant_id=admin.user.tenant_id, time=TIME, principal="operator", role="operator",
                action="mow", resource="article", result="allowed")
    kolkata.extensions["gatepost"].database.transact(lambda: append([row]))
    return str(row.id)


def test_a_page_shows_local_times_and_names_the_zone_once(admin: Visitor, event: str) -> None:
    page = admin.page("/console/audit?action=mow")
    assert LOCAL in page.text and page.text.count("Times are in the time zone Asia/Kolkata.") == 1
    assert "From (Asia/Kolkata)" in page.text and "2026-01-01" not in page.text
    assert LOCAL in admin.page(f"/console/audit/{event}").text


@pytest.mark.parametrize(("query", "shown"), [
    ("from=2026-01-02T01:30&to=2026-01-02T01:31", True), ("from=2026-01-02&to=2026-01-03", True),
    ("from=2026-01-01T19:59Z&to=2026-01-01T20:01Z", True), ("from=2026-01-01T19:00&to=2026-01-01T21:00", False),
])
def test_the_times_of_a_filter_are_local_unless_they_have_an_offset(
        query: str, shown: bool, admin: Visitor, event: str) -> None:
    page = Seen.of(admin.get(f"/console/audit?action=mow&{query}"))
    assert (f"/console/audit/{event}" in page.links) is shown


@pytest.mark.parametrize("text", ["0001-01-01", "9999-12-31T23:59", "teatime"])
def test_a_time_that_cannot_be_read_is_left_to_the_api(text: str, admin: Visitor) -> None:
    assert admin.get(f"/console/audit?from={text}").status_code == 200


def test_the_plots_of_the_status_page_have_local_times(admin: Visitor) -> None:
    assert "Times are in the time zone Asia/Kolkata." in admin.page("/console/running").text
