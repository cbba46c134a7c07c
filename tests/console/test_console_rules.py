"""The table of *Rules* in a browser: fixed headers, phone width, and the position after a click."""

from __future__ import annotations

from typing import Any

import pytest

from tests.console.conftest import Watched

pytestmark = pytest.mark.slow  # a browser and a served instance

RULES = "/console/rules"
FAR = "user profile.view"  # a mark far down


def opened(visitor: Watched, state: Any, width: int, path: str = RULES, **options: Any) -> Any:
    page = visitor.page(width, storage_state=state, **options)
    page.goto(visitor.url + path)
    return page


def mark(page: Any, cell: str) -> Any:
    return page.locator(f'.matrix td a[href*="cell={cell.replace(" ", "%20")}#"]')


def test_heads_and_permissions_stay_in_sight_inside_the_table(visitor, state):
    page = opened(visitor, state, 768)
    page.locator(".matrix .scroll").evaluate("box => box.scrollTo(300, 900)")
    box = page.locator(".matrix .scroll").bounding_box()
    head, first = (page.locator(f".matrix {one}").first.bounding_box()
                   for one in ("thead th", "tbody tr:nth-child(5) th"))
    assert abs(head["y"] - box["y"]) < 3 and abs(head["x"] - box["x"]) < 3 and abs(first["x"] - box["x"]) < 3


def test_a_mark_opens_its_lines_and_neither_that_nor_closing_moves_the_table(visitor, state):
    page = opened(visitor, state, 1440)
    mark(page, FAR).scroll_into_view_if_needed()
    before = page.locator(".matrix .scroll").evaluate("box => box.scrollTop")
    assert before > 0
    mark(page, FAR).click()
    page.wait_for_selector(".panel:focus")
    assert page.locator(".matrix .scroll").evaluate("box => box.scrollTop") > before / 2
    page.get_by_role("link", name="Close").click()
    page.wait_for_selector(".panel", state="detached")
    assert page.locator(".matrix .scroll").evaluate("box => box.scrollTop") > before / 2
    assert "profile.view" in page.locator(":focus").inner_text()


def test_without_script_the_chosen_mark_is_in_sight_too(visitor, state):
    page = opened(visitor, state, 1440, java_script_enabled=False)
    mark(page, FAR).click()
    page.wait_for_url("**#cell")
    chosen, head = page.locator("#cell").bounding_box(), page.locator(".matrix thead th").first.bounding_box()
    assert head["y"] + head["height"] <= chosen["y"] <= 900


def test_a_phone_lists_one_role_with_rows_that_a_thumb_hits(visitor, state):
    page = opened(visitor, state, 390, f"{RULES}?resource=article", java_script_enabled=False)
    rows = page.locator(".matrix tbody tr:not(.group)")
    assert {row["height"] >= 44 for row in (one.bounding_box() for one in rows.all())} == {True}
    for role in ("guest", "editor"):
        page.locator(".roles label", has_text=role).click()
        assert page.locator(".matrix td:visible .vh", has_text="article.view:").inner_text() == f"{role} article.view:"
        assert page.locator(".matrix td:visible").count() == rows.count()


def test_the_table_is_skipped_by_keyboard(visitor, state):
    page = opened(visitor, state, 1440)
    page.get_by_role("button", name="Show").focus()
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip table"
    page.keyboard.press("Enter")
    page.wait_for_selector("#more:focus")


def test_paper_has_the_whole_table_its_version_and_the_date(visitor, state):
    page = opened(visitor, state, 1440)
    page.emulate_media(media="print")
    scroll = page.locator(".matrix .scroll")
    assert scroll.evaluate("box => box.scrollHeight - box.clientHeight") <= 1
    assert not page.locator("main form:visible").count() and not page.locator(".top").is_visible()
    assert page.locator(".paper").is_visible() and page.get_by_text("always", exact=True).first.is_visible()
