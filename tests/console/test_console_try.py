"""A change of the rules in a browser: edited wrongly, mended, applied, seen in the history, undone; with script and
without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from blueprints.policy_changes.child import LONGEST
from tests.console.visits import barriers, demo, overflow, overflows
from tests.running import Served

pytestmark = pytest.mark.slow  # a browser and a served instance

OPENING = "p, user, article.update, own, allow"  # against an invariant
APPROVING = "p, support, order.approve, always, allow"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A demo whose rules may be changed over HTTP."""
    with demo(tmp_path_factory.mktemp("try"), GATEPOST_POLICY_EDIT="on") as found:
        yield found


def editor(page: Any, url: str, query: str) -> Any:
    page.set_default_timeout(2_000 * LONGEST)
    page.goto(f"{url}/console/try?{query}")
    return page.locator("#text")


def press(page: Any, name: str) -> None:
    page.locator("#actions button" if name == "Try" else f"main button:has-text('{name}')").click()


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])
def test_a_rule_is_edited_wrongly_mended_applied_seen_and_undone(script, watched, state):
    page = watched.page(storage_state=state, java_script_enabled=script)
    text = editor(page, watched.url, "file=orders.csv&add=" + OPENING.replace(" ", "+"))
    assert page.locator("#numbers .at").inner_text() == str(text.input_value().split("\n").index(OPENING) + 1)
    press(page, "Try")
    page.wait_for_selector(".verdict.no")
    finding = page.locator("#found .line.deny").first
    assert OPENING in finding.inner_text() and "invariants.csv" in finding.inner_text()
    assert page.locator("#numbers .error").inner_text() == finding.locator("a").inner_text().removeprefix("Line ")
    assert page.get_by_role("button", name="Apply").count() == 0

    text.fill(text.input_value().replace(OPENING, APPROVING))
    press(page, "Try")
    page.wait_for_selector(".verdict.yes")
    row = page.locator("#found .turns tbody tr")
    assert all(part in row.inner_text() for part in ("more access", "support", "order.approve", "never → always"))
    assert page.locator("#steps [aria-current]").inner_text() == "3. Apply"
    apply = page.get_by_role("button", name="Apply").bounding_box()
    assert apply["y"] >= 0 and apply["y"] + apply["height"] <= 900
    page.get_by_label("Note for the policy history").fill("while Ann is away")
    press(page, "Apply")
    page.wait_for_url("**/console/history/*")
    assert "while Ann is away" in page.locator("main").inner_text()

    page.get_by_role("link", name="Undo").click()
    assert page.locator("del").inner_text().endswith(APPROVING)
    press(page, "Restore this version")
    page.wait_for_url("**/console/history/*")
    assert "This is the active version." in page.locator(".head").inner_text()
    page.get_by_role("link", name="Policy history").click()
    page.wait_for_url("**/console/history")
    assert "while Ann is away" in page.locator("tbody tr").nth(1).inner_text()
    assert APPROVING not in editor(page, watched.url, "file=orders.csv").input_value()


def test_with_script_the_text_stays_where_it_is_and_what_was_tried_counts_for_that_text_alone(watched, state):
    page = watched.page(storage_state=state)
    text = editor(page, watched.url, "file=orders.csv&add=" + APPROVING.replace(" ", "+"))
    page.evaluate("document.querySelector('#text').dataset.kept = 'yes'")
    press(page, "Try")
    page.wait_for_selector(".verdict.yes")
    assert text.get_attribute("data-kept") == "yes"
    decisions = page.get_by_label("Replay the last 7 days")
    decisions.uncheck()
    page.locator("#try").dblclick()  # two trials at once would be refused
    page.get_by_role("heading", name="Replay of the last 7 days").wait_for(state="detached")
    assert not decisions.is_checked() and page.get_by_role("alert").count() == 0
    assert page.evaluate("document.activeElement.tagName") == "H2"
    apply = page.get_by_role("button", name="Apply")
    assert apply.is_enabled() and not page.locator(".stale").is_visible()
    lines = len(text.input_value().split("\n"))
    text.press("Control+End")
    page.keyboard.type("\n# one more\n")
    assert page.locator("#numbers").inner_text().split()[-1] == str(lines + 2)
    assert apply.is_disabled() and page.locator(".stale").is_visible()
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.goto(f"{watched.url}/console/history")
    assert asked == ["beforeunload"]


def test_a_link_to_a_line_leads_into_the_text(watched, state):
    page = watched.page(storage_state=state)
    text = editor(page, watched.url, "file=articles.csv&line=36")
    before = "(text => text.value.slice(0, text.selectionStart).split('\\n'))(document.querySelector('#text'))"
    assert page.evaluate("document.activeElement.id") == "text" and len(page.evaluate(before)) == 36
    text.fill(text.input_value().replace("p, guest, ", "p, gest, "))
    press(page, "Try")
    page.locator("#found .deny a").first.click()
    assert len(page.evaluate(before)) == 4
    assert page.locator("#numbers .error").first.is_visible()


def test_other_rules_that_came_into_force_meanwhile_are_shown_beside_the_text(watched, state, service: Served):
    watched.expected = {409}
    page = watched.page(storage_state=state)
    text = editor(page, watched.url, "file=orders.csv&add=" + APPROVING.replace(" ", "+"))
    press(page, "Try")
    page.wait_for_selector(".verdict.yes")
    token, mine = service.log_in(), text.input_value()
    base = service.call("GET", "/api/admin/policy", token=token)[1]["version"]
    theirs = mine.replace(APPROVING, "# theirs")
    status, answer = service.call("POST", "/api/admin/policy/apply", {
        "files": {"orders.csv": theirs}, "base_version": base}, token)
    assert status == 200, answer
    press(page, "Apply")
    page.get_by_text("The active rules have changed").wait_for()
    assert text.input_value() == mine and page.locator("ins", has_text="# theirs").count() == 1
    press(page, "Continue from the active rules")
    page.wait_for_selector(".verdict.yes")
    assert page.get_by_role("button", name="Apply").count() == 1


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_what_is_told_of_a_change_has_no_barriers_and_fits_each_window(scheme, width, watched, state):
    page = watched.page(width, storage_state=state, color_scheme=scheme, reduced_motion="reduce")
    text = editor(page, watched.url, "file=articles.csv&line=9")
    assert barriers(page) == []
    for edit, kind in ((OPENING, "no"), ("p, user, page.view, always, allow", "yes")):
        text.fill(text.input_value().replace("# end", f"{edit}\n# end") if kind == "no" else
                  text.input_value().replace(OPENING, edit))
        press(page, "Try")
        page.wait_for_selector(f".verdict.{kind}")
        assert barriers(page) == []
        assert overflows(page) == {}
    press(page, "Apply")
    page.wait_for_url("**/console/history/*")
    here = page.url
    for path in (here, f"{here}/revert", f"{watched.url}/console/history"):
        page.goto(path)
        assert barriers(page) == [], path
        assert overflow(page) <= 0, path
    page.get_by_role("link", name="View diff").first.click()
    assert barriers(page) == [] and overflow(page) <= 0


def test_a_try_shows_its_progress(watched, state):
    page = watched.page(storage_state=state)
    editor(page, watched.url, "file=orders.csv&add=" + APPROVING.replace(" ", "+"))
    assert not page.get_by_role("progressbar").is_visible()
    press(page, "Try")
    page.get_by_role("progressbar").wait_for()
    page.wait_for_selector(".verdict")
    page.get_by_role("progressbar").wait_for(state="hidden")
