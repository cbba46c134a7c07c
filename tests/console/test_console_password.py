"""An invitation in a browser: an administrator creates a user and a link, and the user chooses a password with it."""

from __future__ import annotations

import pytest

from tests.console.visits import barriers, cookies_of, overflow

pytestmark = pytest.mark.slow  # a browser and a served instance

PASSWORD = "nine slow ferries at dawn"


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_an_invited_user_chooses_a_password_and_logs_in(script, browser, watched):
    email = f"invited-{script}@example.org".lower()
    page = watched.page(storage_state=cookies_of(browser, watched.url), java_script_enabled=script)
    page.goto(f"{watched.url}/console/people")
    page.get_by_role("link", name="New user").click()
    page.get_by_label("Name").fill("Ida Invited")
    page.get_by_label("E-mail").fill(email)
    page.get_by_role("button", name="Create user").click()
    page.get_by_role("button", name="Create link").click()
    link = page.get_by_label("Link").input_value()
    page.reload()  # which sends the form again: another link
    newer = page.get_by_label("Link").input_value()
    assert newer != link

    sent = []
    watched.expected |= {400, 404}
    invited = watched.page(390, color_scheme="dark", java_script_enabled=script)
    invited.on("request", lambda request: sent.append(request.all_headers()))
    invited.goto(watched.url + link)
    assert "This link is not valid." in invited.locator("main").inner_text()
    invited.goto(watched.url + newer)
    if script:
        assert barriers(invited) == []
        assert overflow(invited) == 0
    for repeated in ("another one altogether", PASSWORD):
        invited.locator("#new_password").fill(PASSWORD)
        invited.locator("#repeated").fill(repeated)
        invited.locator("main button").click()
    invited.wait_for_url("**/console/password")
    token = newer.rpartition("/")[2]
    assert not any(token in str({**headers, ":path": ""}) for headers in sent), "no Referer has the token"
    invited.locator("main a.button").click()
    invited.get_by_label("E-mail").fill(email)
    invited.get_by_label("Password").fill(PASSWORD)
    invited.locator("main button").click()
    invited.wait_for_url(lambda found: "/login" not in found)
    invited.goto(f"{watched.url}/console/account")
    assert email in invited.locator("main").inner_text()
    assert invited.locator("input[name=name]").input_value() == "Ida Invited"
