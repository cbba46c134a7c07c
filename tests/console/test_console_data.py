"""Rows in a browser: search, concurrent changes, category, publication, deletion; with and without JavaScript."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.visits import barriers, overflows
from tests.running import Served

pytestmark = pytest.mark.slow  # a browser and a served instance

ROOT = "/console/data"
PATHS = [f"{ROOT}/articles", f"{ROOT}/articles?as=editor", f"{ROOT}/articles/create", f"{ROOT}/users",
         f"{ROOT}/orders/create", f"{ROOT}/products/create", f"{ROOT}/tokens/create"]


@pytest.fixture(scope="module")
def service(unlimited: Served) -> Served:
    return unlimited


def save(page: Any) -> None:
    page.locator("#form button.button:not(.quiet)").click()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_an_article_is_made_filed_changed_by_two_published_and_deleted(script, watched, state):
    slug = f"a-story-{script}".lower()
    page = watched.page(storage_state=state, java_script_enabled=script)
    page.goto(f"{watched.url}{ROOT}/articles/create")
    page.get_by_label("Title").fill("A story")
    page.get_by_label("Slug").fill("Not a slug")
    page.locator("#f-body").fill("Once upon a time.")
    watched.expected |= {400, 412}
    save(page)
    page.locator("#f-slug[aria-invalid]").wait_for()
    assert page.get_by_label("Title").input_value() == "A story"
    if script:
        assert barriers(page) == []
    page.get_by_label("Slug").fill(slug)
    page.locator("#f-category_id").select_option("Events")
    save(page)
    page.locator("h2:has-text('Actions')").wait_for()
    item = page.url
    page.locator("a[href$='/update']").click()
    other = watched.page(storage_state=state, java_script_enabled=script)
    other.goto(f"{item}/update")
    other.get_by_label("Title").fill("Another story")
    other.get_by_label("Title").press("Enter")
    other.wait_for_url(item)
    page.get_by_label("Title").fill("My own story")
    save(page)
    page.locator("[role=alert]").wait_for()
    assert "Current value: Another story" in page.locator("#form").inner_text()
    if script:
        assert barriers(page) == []
    save(page)
    page.locator("h1:has-text('My own story')").wait_for()
    page.get_by_role("button", name="publish").click()
    page.locator("dd .mark:has-text('published')").wait_for()
    if script:
        assert barriers(page) == []
    page.locator("a[href$='/delete']").click()
    page.get_by_role("button", name="Delete").click()
    page.wait_for_url(f"**{ROOT}/articles")
    assert "My own story" not in page.locator("#rows").inner_text()


def test_rows_are_found_while_one_types_and_paged_in_place(watched, state):
    page = watched.page(storage_state=state)
    page.goto(f"{watched.url}{ROOT}/articles")
    page.evaluate("document.body.dataset.kept = 'yes'")
    page.locator("#rows a[rel=next]").click()
    page.wait_for_url("**cursor=**")
    page.locator("#rows [role=region]:focus").wait_for()
    page.locator("#q").fill("tide")
    page.wait_for_url("**q=tide**")
    page.wait_for_function("document.querySelectorAll('#rows tbody tr').length < 5")
    assert page.evaluate("document.activeElement.id") == "q"
    assert page.locator("body").get_attribute("data-kept") == "yes"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_no_page_has_barriers_and_each_fits_each_window(scheme, width, watched, state):
    page = watched.page(width, storage_state=state, color_scheme=scheme, reduced_motion="reduce")
    faults = []
    for path in PATHS:
        page.goto(watched.url + path)
        faults += [f"{path}: {barrier}" for barrier in barriers(page)]
        faults += [f"{path}: {over} pixels too wide at {each}" for each, over in overflows(page).items()]
    assert faults == []
