"""The pages of the console in a browser: for each reader, at each width, by light and dark, by keyboard, without
script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from blueprints.console.navigation import entries
from gatepost.collections.plugins.discovery import discover
from tests.console.visits import CONTRAST, ROLES, barriers, cookies_of, demo, log_in, overflows
from tests.running import Served

pytestmark = pytest.mark.slow  # a browser and a served instance

PATHS = [page.path for page in entries(discover().paths)]
ASKED = ["/console/rules?resource=article&cell=user%20article.update",
         "/console/why?as=user&permission=article.update", "/console/why?as=guest&permission=article.create",
         "/console/try?file=articles.csv&line=18", "/console/try?new=support.csv", "/console/people/roles",
         "/console/people/who?permission=order.refund", "/console/people/review", "/console/people/unused",
         "/console/people/new", "/console/account", "/console/data/articles", "/console/data/articles/create",
         "/console/rules/role"]


# What a page contains is the same on both servers; that each of them serves the pages, their files and cookies is asked
# of both.
on_both_servers = pytest.mark.parametrize("service", ["waitress", "granian"], indirect=True, scope="module")


@pytest.fixture(scope="module", params=["waitress"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A demo with a user of each role, on waitress or on granian."""
    workers = ("--workers", "2") if request.param == "granian" else ()
    with demo(tmp_path_factory.mktemp("pages"), *workers, people=True) as found:
        yield found


@pytest.fixture(scope="module")
def states(browser: Any, service: Served) -> dict[str, Any]:
    """Role → its cookies after a login."""
    return {"guest": None, **{role: cookies_of(browser, service.url, role) for role in (*ROLES, "admin")}}


@on_both_servers
@pytest.mark.parametrize("role", ["guest", *ROLES, "admin"])
def test_each_reader_sees_the_pages_of_their_navigation_without_an_error(role, watched, states):
    page = watched.page(storage_state=states[role])
    page.goto(f"{watched.url}/console")
    links = page.locator("nav a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert (role == "guest") == ("/console/login" in page.url)
    for path in links:
        page.goto(watched.url + path)
        assert page.locator("h1").count() == 1 and page.title().endswith("· Gatepost"), path
    watched.expected |= {403}
    for path in set(PATHS) - set(links):
        page.goto(watched.url + path)
        assert page.locator("h1").count() == 1, path
        assert ("/console/login" in page.url) == (role == "guest"), path


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 1440), ("dark", 390)])
def test_no_page_has_barriers_and_each_fits_each_window(scheme, width, watched, states):
    page = watched.page(width, storage_state=states["admin"], color_scheme=scheme, reduced_motion="reduce")
    faults = []
    for path in [*PATHS, *ASKED, "/console/login"]:
        page.goto(watched.url + path)
        faults += [f"{path}: {one}" for one in (barriers(page, CONTRAST) if (scheme, width) == ("dark", 1440)
                                                else barriers(page))]
        if scheme == "light":
            faults += [f"{path}: {over} pixels too wide at {each}" for each, over in overflows(page).items()]
    assert faults == []


def test_a_page_says_the_same_without_script_and_in_german_too(watched, states):
    pages = [watched.page(storage_state=states["admin"], **options) for options in (
        {}, {"java_script_enabled": False}, {"locale": "de-DE"})]
    headings, languages = {}, {}
    for path in PATHS:
        for page in pages:
            page.goto(watched.url + path)
        headings[path] = [page.locator("h1").inner_text() for page in pages[:2]]
        languages[path] = (pages[2].locator("html").get_attribute("lang"), pages[2].locator(".me button").inner_text())
    assert {path: both for path, both in headings.items() if both[0] != both[1]} == {}
    assert languages == dict.fromkeys(PATHS, ("de", "Abmelden"))


def test_the_keyboard_skips_the_frame(watched, states):
    page = watched.page(storage_state=states["admin"])
    page.goto(watched.url + PATHS[0])
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "vh skip"
    page.keyboard.press("Enter")
    page.locator("main:focus").wait_for()


@on_both_servers
def test_a_login_logs_in_and_a_logout_out(watched):
    page = watched.page()
    log_in(page, watched.url)
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/console/login")
    page.go_back()
    page.wait_for_url(re.compile("/console/login"))


def test_a_question_is_answered_in_place_with_script(watched, states):
    page = watched.page(storage_state=states["admin"])
    page.goto(f"{watched.url}/console/why")
    page.evaluate("document.body.dataset.kept = 'yes'")
    page.get_by_label("User or role").fill("guest")
    page.get_by_label("Permission").fill("article.create")
    page.get_by_role("button", name="Explain").click()
    page.wait_for_selector(".verdict.no")
    assert page.locator("body").get_attribute("data-kept") == "yes"
    assert "permission=article.create" in page.url
    assert page.evaluate("document.activeElement.tagName") == "H2"
