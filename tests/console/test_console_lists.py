"""Work on lists in a browser: several rows, a file with a preview, a backup; by keyboard and without script."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.console.visits import barriers, demo, overflow
from tests.running import Served, wait_until

pytestmark = pytest.mark.slow  # a browser and a served instance

ROOT = "/console/data"
WIDE_AND_NARROW = pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with demo(tmp_path_factory.mktemp("lists")) as found:
        yield found


def checked(page: Any) -> None:
    assert barriers(page) == []
    assert overflow(page) <= 0


@WIDE_AND_NARROW
def test_several_rows_are_archived_by_keyboard_and_each_outcome_is_listed(scheme, width, watched, state):
    page = watched.page(width, storage_state=state, color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"{watched.url}{ROOT}/products?status=active")
    checked(page)
    boxes = page.get_by_role("checkbox")
    for number in range(2):
        boxes.nth(number).focus()
        page.keyboard.press("Space")
    archive = page.get_by_role("button", name="archive")
    assert archive.is_visible()
    archive.focus()
    page.keyboard.press("Enter")
    page.get_by_text("Done: 2 of 2 rows.").wait_for()
    checked(page)
    page.get_by_role("link", name="Back to the list").click()
    page.wait_for_url("**/products?status=active")


def test_without_script_all_rows_of_a_page_are_selected_and_the_deletion_is_asked(watched, state):
    page = watched.page(storage_state=state, java_script_enabled=False)
    page.goto(f"{watched.url}{ROOT}/comments")
    page.get_by_role("link", name="Select all").click()
    page.wait_for_url("**select=all")
    number = page.locator("input[name=row]:checked").count()
    assert number == page.locator("input[name=row]").count() > 1
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("heading", name=f"Delete {number} rows?").wait_for()
    page.get_by_role("link", name="Cancel").click()
    page.locator("input[name=row]").first.check()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete").click()
    page.get_by_text("Done: 1 of 1 rows.").wait_for()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_forty_rows_with_three_faults_are_shown_and_the_others_imported(script, watched, state):
    lines = [f"kept-{script}-{number};Thing {number};{1000 + number};EUR;3" for number in range(40)]
    lines[4], lines[17], lines[38] = "bad;Bad;cheap;EUR;1", "bad;;1;EUR;1", "bad;Bad;1;EUR"
    file = {"name": "products.csv", "mimeType": "text/csv",
            "buffer": "\n".join(["sku;name;price;currency;stock", *lines]).encode()}
    page = watched.page(storage_state=state, java_script_enabled=script)
    page.goto(f"{watched.url}{ROOT}/products")
    page.get_by_role("link", name="Import…").click()
    page.set_input_files("#file", file)
    page.get_by_role("button", name="Preview").click()
    faults = page.locator("section:has(h2:text('Faulty lines')) tbody th")
    faults.first.wait_for()
    assert faults.all_inner_texts() == ["6", "19", "40"]
    assert "10.00 EUR" in page.locator("main").inner_text().replace("\N{NO-BREAK SPACE}", " ")
    if script:
        checked(page)
    page.get_by_role("button", name="Import 37 rows").click()
    page.get_by_text("New rows: 37. Existing rows: 0. Lines left out: 3.").wait_for()
    if script:
        checked(page)


def test_the_filtered_list_is_downloaded_as_csv(watched, state, tmp_path):
    page = watched.page(storage_state=state)
    page.goto(f"{watched.url}{ROOT}/articles?status=published")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export CSV").click()
    file = Path(tmp_path / "articles.csv")
    download.value.save_as(file)
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert len(rows) > 5 and {row["status"] for row in rows} == {"published"}


@WIDE_AND_NARROW
def test_the_reader_asks_on_the_page_of_the_rules_and_rules_open_beside_the_table(scheme, width, watched, state):
    page = watched.page(width, storage_state=state, color_scheme=scheme, reduced_motion="reduce")
    page.goto(f"{watched.url}/console/rules?resource=article")
    checked(page)
    page.locator(".matrix td a:visible").nth(1).click()
    page.wait_for_selector(".panel")
    panel, table = page.locator(".panel").bounding_box(), page.locator(".matrix").bounding_box()
    if width > 1024:
        assert panel["x"] >= table["x"] + table["width"]
    page.evaluate("scrollTo(0, 0)")  # a field half under the bar at the top would count as too small
    checked(page)
    page.get_by_label("May (user or role)").fill("editor")
    page.get_by_label("do (permission)").fill("article.publish")
    page.get_by_label("do (permission)").press("Enter")
    page.get_by_role("heading", name="editor may article.publish").wait_for()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_a_backup_is_made_and_verified_by_a_button(script, watched, state, service):
    page = watched.page(storage_state=state, java_script_enabled=script, reduced_motion="reduce")
    page.goto(f"{watched.url}/console/running")
    page.get_by_role("button", name="Make a backup").click()
    page.get_by_text("A backup is being made.").wait_for()
    if script:
        checked(page)
        page.get_by_role("link", name="Auto-refresh", exact=True).click()
    else:
        token = service.log_in()
        wait_until(lambda: service.call("GET", "/api/admin/backups", None, token)[1]["items"][0]["proved_at"])
        page.get_by_role("link", name="Refresh", exact=True).click()
    page.locator("#backups ~ div tbody tr").first.get_by_text("verified", exact=True).wait_for(timeout=60_000)
