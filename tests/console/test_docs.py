"""The documentation page in a browser: it opens on how to log in and try, and works on a phone, in the dark, by
keyboard and without scripts."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from tests.running import PASSWORD, Served

pytestmark = pytest.mark.slow  # a browser and a served instance

LIST, CREATE = "get-/api/articles", "post-/api/articles"
MINUTE = 60 * 1000


def log_in(page: Any, password: str = PASSWORD) -> None:
    page.get_by_label("E-mail").fill("admin@example.org")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def logged_in(page: Any) -> None:
    log_in(page)
    page.wait_for_selector("#logged-in .yes")


def open_operation(page: Any, name: str) -> None:
    page.evaluate("name => { location.hash = name }", name)
    page.wait_for_selector(f"rapi-doc [id='{name}'] api-request [part~=btn-try]")


def tried(page: Any) -> dict[str, Any]:
    """Presses *Try* of the shown operation. Returns the body of the answer."""
    with page.expect_response(lambda answer: "/api/" in answer.url) as awaited:
        page.get_by_role("button", name="TRY", exact=True).click()
    page.wait_for_selector("api-request .response-message")
    return {"status": awaited.value.status, "body": awaited.value.json(), "request": awaited.value.request}


def ids(answer: dict[str, Any]) -> list[str]:
    return [row["id"] for row in answer["items"]]


def test_a_login_tells_the_reader_who_they_are(visitor):
    page = visitor.open()
    logged_in(page)
    assert "Administrator · admin" in page.locator("#caller").inner_text()
    shown = page.locator("[data-ask='/api/profile'] + output pre").inner_text()
    assert json.loads(shown)["email"] == "admin@example.org"
    assert page.locator("#log-in").is_hidden()


def test_the_first_request_is_sent_with_the_token(visitor, served: Served):
    page = visitor.open()
    logged_in(page)
    page.get_by_role("button", name="Try", exact=True).click()
    page.wait_for_selector("[data-ask*=articles] + output .yes")
    shown = json.loads(page.locator("[data-ask*=articles] + output pre").inner_text())
    _, answered = served.call("GET", "/api/articles?limit=2", token=served.log_in())
    assert ids(shown) == ids(answered)


def test_what_is_tried_is_answered_as_to_the_reader(visitor, served: Served):
    _, to_guests = served.call("GET", "/api/articles")
    _, to_admin = served.call("GET", "/api/articles", token=served.log_in())
    assert ids(to_guests) != ids(to_admin)
    page = visitor.open(f"/docs#{LIST}")
    page.wait_for_selector("rapi-doc api-request [part~=btn-try]")
    as_guest = tried(page)
    assert (as_guest["status"], ids(as_guest["body"])) == (200, ids(to_guests))
    page.get_by_role("link", name="Start").click()
    logged_in(page)
    open_operation(page, LIST)
    as_admin = tried(page)
    assert (as_admin["status"], ids(as_admin["body"])) == (200, ids(to_admin))
    assert "Answered with status 200." in page.locator("#tried").inner_text()


def test_the_answer_of_a_try_comes_into_view(visitor):
    page = visitor.open(f"/docs#{LIST}", width=390)
    page.wait_for_selector("rapi-doc api-request [part~=btn-try]")
    tried(page)
    page.wait_for_function("""() => {
      const request = document.querySelector("rapi-doc").shadowRoot.querySelector("api-request");
      const box = request.shadowRoot.querySelector(".response-message").getBoundingClientRect();
      return box.top >= 0 && box.bottom <= innerHeight;
    }""")


def test_a_fragment_that_is_badly_encoded_leads_to_the_start(visitor):
    page = visitor.open()
    open_operation(page, "get-/api/articles")
    page.evaluate("location.hash = '#%'")
    page.wait_for_selector("#start:not([hidden])")


def test_the_token_stays_in_memory_and_a_reload_forgets_it(visitor):
    page = visitor.open()
    logged_in(page)
    open_operation(page, LIST)
    token = tried(page)["request"].headers["authorization"].removeprefix("Bearer ")
    stored = page.evaluate("() => [location.href, document.cookie, {...localStorage}, {...sessionStorage}]")
    assert token not in json.dumps(stored)
    assert [stored[1:], page.context.cookies()] == [["", {}, {}], []]
    page.reload()
    page.wait_for_selector("rapi-doc api-request [part~=btn-try]")
    assert page.locator("#caller").inner_text() == "guest"
    assert "authorization" not in tried(page)["request"].headers


def test_a_wrong_password_is_said_and_nobody_is_logged_in(visitor):
    visitor.expected = {401}
    page = visitor.open()
    log_in(page, "not the password")
    page.wait_for_selector("#logged-in .no")
    assert page.locator("#caller").inner_text() == "guest"
    assert page.get_by_label("Password").input_value() == ""


def test_a_token_that_the_reader_has_is_used_and_one_that_is_not_valid_is_forgotten(visitor, served: Served):
    visitor.expected = {401}
    page = visitor.open()
    page.get_by_text("Use a token that you have").click()
    for token, mark in (("nonsense", ".no"), (served.log_in(), ".yes")):
        page.locator("#token").fill(token)
        page.get_by_role("button", name="Use it").click()
        page.wait_for_selector(f"#logged-in {mark}")
        assert page.locator("#caller").inner_text() == ("guest" if mark == ".no" else "Administrator · admin")


def test_a_logout_ends_the_session_here_and_at_the_service(visitor, served: Served):
    page = visitor.open()
    logged_in(page)
    open_operation(page, LIST)
    token = tried(page)["request"].headers["authorization"].removeprefix("Bearer ")
    assert served.call("GET", "/api/profile", token=token)[0] == 200
    with page.expect_response("**/api/logout") as ended:
        page.get_by_role("button", name="Log out").click()
    assert ended.value.status == 204
    page.wait_for_selector("#log-out", state="hidden")
    assert served.call("GET", "/api/profile", token=token)[0] == 401
    assert "authorization" not in tried(page)["request"].headers


def test_a_login_is_renewed_before_its_token_ends(visitor):
    page = visitor.page()
    page.clock.install()
    page.goto(f"{visitor.url}/docs#{LIST}")
    page.wait_for_selector("#operations .group", state="attached")
    page.get_by_role("link", name="Start").click()
    logged_in(page)
    with page.expect_response("**/api/token/refresh") as renewed:
        page.clock.fast_forward(14 * MINUTE + 1000)
    assert renewed.value.status == 200
    open_operation(page, LIST)
    assert tried(page)["request"].headers["authorization"] == f"Bearer {renewed.value.json()['access_token']}"


def test_a_login_that_is_not_renewed_is_said_to_have_ended(visitor, served: Served):
    visitor.expected = {401}
    page = visitor.page()
    page.clock.install()
    page.goto(f"{visitor.url}/docs")
    page.wait_for_selector("#operations .group", state="attached")
    logged_in(page)
    assert served.call("POST", "/api/logout", {"all": True}, token=served.log_in())[0] == 204
    page.clock.fast_forward(14 * MINUTE + 1000)
    page.wait_for_selector("#logged-in .no")
    assert page.locator("#caller").inner_text() == "guest"


def test_nothing_is_wider_than_the_screen(visitor):
    page = visitor.open()
    fits(page)
    page.evaluate("() => document.querySelectorAll('.group').forEach(group => { group.open = true })")
    fits(page)
    logged_in(page)
    fits(page)

    def the_button_is_seen_without_scrolling(width: int) -> None:
        button = page.get_by_role("button", name="TRY", exact=True).bounding_box()
        assert button["x"] >= 0 and button["x"] + button["width"] <= width
        assert button["y"] >= 0 and button["y"] + button["height"] <= 900

    for name in (LIST, CREATE):
        open_operation(page, name)
        fits(page, the_button_is_seen_without_scrolling)
    page.goto(f"{visitor.url}/docs/errors")
    fits(page)


def fits(page: Any, also: Callable[[int], None] = lambda _: None) -> None:
    """Checks the page in windows of each width, and `also` at each of them."""
    for width in (360, 390, 768, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert widest(page) <= width
        also(width)


def widest(page: Any) -> int:
    found: int = page.evaluate("() => document.documentElement.scrollWidth")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_as_dark_as_the_screen_also_where_rapidoc_draws(visitor, scheme):
    page = visitor.open(f"/docs#{LIST}", color_scheme=scheme)
    page.wait_for_selector("rapi-doc api-request [part~=btn-try]")
    for element in ("document.body", "document.querySelector('rapi-doc').shadowRoot.querySelector('#the-main-body')"):
        colour = page.evaluate(f"() => getComputedStyle({element}).color")
        light_text = sum(int(part) for part in re.findall(r"\d+", colour)[:3]) > 3 * 128
        assert light_text is (scheme == "dark"), (element, colour)


def test_the_map_has_every_operation_of_the_description(visitor, served: Served):
    _, document = served.call("GET", "/api/openapi.json")
    wanted = {f"{method.upper()} {path}" for path, item in document["paths"].items() for method in item
              if method != "parameters"}
    page = visitor.open()
    shown = page.evaluate("""() => [...document.querySelectorAll("#operations a")].map(
      link => `${link.querySelector(".verb").textContent} ${link.title}`)""")
    assert len(shown) == len(wanted)
    assert set(shown) == wanted
    collections = page.locator("#collections .group strong").all_inner_texts()
    assert {"articles", "orders", "users"} <= set(collections)
    assert "session" not in collections


def test_the_part_for_an_operation_has_all_that_it_refers_to(visitor):
    page = visitor.open()
    found = page.evaluate("""async () => {
      const { Description } = await import(new URL("docs/description.js", location.href));
      const document = await (await fetch("api/openapi.json")).json();
      const description = new Description(document);
      const operations = description.tags().flatMap((tag) => tag.operations);
      const whole = JSON.stringify(document).length;
      return operations.map(({ elementId }) => {
        const part = description.partOf(elementId, "http://here.example");
        const text = JSON.stringify(part);
        const missing = [...text.matchAll(/"#\\/components\\/(\\w+)\\/([^"]+)"/g)].filter(
          ([, kind, name]) => part.components[kind]?.[name] === undefined);
        return { elementId, missing: missing.map(([reference]) => reference), share: text.length / whole };
      });
    }""")
    assert len(found) > 100
    assert [one for one in found if one["missing"] or one["share"] > 1 / 3] == []


def test_of_two_operations_that_are_chosen_at_once_the_last_is_shown(visitor):
    page = visitor.open(f"/docs#{LIST}")
    page.wait_for_selector("rapi-doc api-request [part~=btn-try]")
    page.evaluate("""async (names) => {
      for (const name of names) {
        document.querySelector(`#operations a[href="#${name}"]`).click();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }""", ["get-/api/orders", CREATE])
    page.wait_for_selector(f"rapi-doc [id='{CREATE}'] api-request [part~=btn-try]")
    page.wait_for_load_state("networkidle")
    assert page.url.endswith(f"#{CREATE}")
    assert page.locator("rapi-doc api-request").count() == 1


def test_what_is_typed_into_an_operation_stays_while_the_reader_logs_in(visitor):
    page = visitor.open(f"/docs#{LIST}")
    page.get_by_label("limit", exact=True).fill("2")
    page.get_by_role("link", name="Start").click()
    logged_in(page)
    open_operation(page, LIST)
    request = tried(page)["request"]
    assert "limit=2" in request.url
    assert "authorization" in request.headers


def test_an_answer_that_is_no_description_is_said(visitor):
    page = visitor.page()
    page.route("**/api/openapi.json", lambda route: route.fulfill(body="<html>A login</html>"))
    page.goto(f"{visitor.url}/docs")
    page.get_by_text("The answer is not the OpenAPI document.").wait_for()


def test_an_operation_is_found_by_its_words(visitor):
    page = visitor.open()
    page.get_by_label("Find").fill("publish article")
    assert page.locator("#found").inner_text() == "1 operation"
    page.locator("#operations a:visible").click()
    page.wait_for_selector("rapi-doc [id='post-/api/articles/-id-/publish']")
    page.go_back()
    page.wait_for_selector("#start:not([hidden])")
    page.get_by_label("Find").fill("no such operation")
    assert page.locator("#found").inner_text() == "0 operations"
    page.get_by_label("Find").fill("")
    assert page.locator(".group:visible").count() == page.locator(".group").count()


def test_a_keyboard_is_enough(visitor):
    page = visitor.open()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    page.get_by_label("E-mail").focus()
    page.keyboard.type("admin@example.org")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("#logged-in .yes")
    assert page.evaluate("() => document.activeElement.id") == "logged-in"
    page.locator("[id='tag--articles'] summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(f"rapi-doc [id='{LIST}']")
    assert page.evaluate("() => document.activeElement.id") == "main"


def test_fields_of_an_operation_have_names_for_screen_readers(visitor):
    page = visitor.open(f"/docs#{LIST}")
    page.wait_for_selector("rapi-doc api-request [part~=btn-try]")
    for name in ("sort", "q", "created_at__gte", "status__in"):
        assert page.get_by_role("textbox", name=name, exact=True).count() == 1, name
    open_operation(page, CREATE)
    assert page.get_by_role("textbox", name="Body", exact=True).count() == 1


def test_the_page_works_below_a_path(visitor):
    page = visitor.page()
    # Like a proxy that removes a prefix.
    page.route("**/gate/**", lambda route: route.fulfill(
        response=route.fetch(url=route.request.url.replace("/gate/", "/", 1))))
    page.goto(f"{visitor.url}/gate/docs#{LIST}")
    page.wait_for_selector("rapi-doc api-request [part~=btn-try]")
    assert tried(page)["request"].url == f"{visitor.url}/gate/api/articles"
    assert page.locator(".base").first.text_content() == f"{visitor.url}/gate"


def test_without_scripts_the_commands_of_the_page_log_in_and_ask(visitor, served: Served):
    page = visitor.page(java_script_enabled=False)
    page.goto(f"{served.url}/docs")
    assert page.locator("noscript p").is_visible()
    assert page.locator("button:visible, input:visible").count() == 0
    assert page.locator("noscript a").get_attribute("href") == "api/openapi.json"
    first, second, third = (text.replace("you@example.org", "admin@example.org").replace("…", PASSWORD)
                            for text in page.locator(".steps pre").all_inner_texts())
    for asked, key in ((second, "email"), (third, "items")):
        done = subprocess.run(["sh", "-ec", f"{first}\n{asked}"], capture_output=True, text=True, timeout=60)
        assert key in json.loads(done.stdout), done
