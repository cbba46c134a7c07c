"""Forms in a browser: prices in two languages, an order with rows, a search for a row; with and without JavaScript."""

from __future__ import annotations

import pytest

from tests.console.visits import barriers, overflows
from tests.running import PASSWORD, Served

pytestmark = pytest.mark.slow  # a browser and a served instance

ROOT = "/console/data"

each_way = pytest.mark.parametrize("script", [True, False], ids=["with script", "without"])


@pytest.fixture(scope="module")
def service(unlimited: Served) -> Served:
    return unlimited


@pytest.fixture(scope="module")
def pegs(service: Served) -> None:
    """More products than a list to choose from has."""
    token = service.log_in()
    for number in range(21):
        status, answer = service.call("POST", "/api/products", {
            "name": f"Peg {number:02}", "sku": f"peg-{number}", "price": 10, "currency": "EUR", "stock": 9}, token)
        assert status == 201, answer
        assert service.call("POST", f"/api/products/{answer['id']}/publish", None, token)[0] == 200


def save(page):
    page.locator("#form button.button:not(.quiet)").last.click()


def new_product(page, url, name, sku, price):
    """Fills the form of a product, and saves it."""
    page.goto(f"{url}{ROOT}/products/create")
    page.locator("#f-name").fill(name)
    page.locator("#f-sku").fill(sku)
    page.locator("#f-price").fill(price)
    page.locator("#f-currency").fill("EUR")
    page.locator("#f-stock").fill("9")
    save(page)


def published(page):
    page.locator("form[action$='/publish'] button").click()
    page.locator("form[action$='/archive'] button").wait_for()


@each_way
def test_prices_in_two_languages_and_an_order_with_rows(script, watched, state):
    watched.expected |= {400}
    german = watched.page(storage_state=state, java_script_enabled=script, locale="de-DE")
    new_product(german, watched.url, f"Hobel {script}", f"plane-{script}", "1,234")
    german.locator("#f-price[aria-invalid]").wait_for()
    assert "Schreiben Sie 1234,00 oder 1,23." in german.locator("#form").inner_text()
    assert german.locator("#f-price").input_value() == "1,234"
    german.locator("#f-price").fill("12,50")
    save(german)
    german.get_by_text("12,50\xa0EUR").wait_for()
    published(german)
    german.locator("a[href$='/update']").click()
    assert german.locator("#f-price").input_value() == "12,50"
    page = watched.page(storage_state=state, java_script_enabled=script, locale="en-GB")
    new_product(page, watched.url, f"Saw {script}", f"saw-{script}", "1,234.50 EUR")
    page.get_by_text("1,234.50\xa0EUR").wait_for()
    published(page)

    page.goto(f"{watched.url}{ROOT}/orders/create")
    page.locator("[name='items.0.product_id']").select_option(f"Hobel {script}")
    page.locator("[name='items.0.quantity']").fill("2")
    page.get_by_role("button", name="Add a row").click()
    page.locator("[name='items.1.product_id']").select_option(f"Saw {script}")
    page.get_by_role("button", name="Add a row").click()
    page.locator("[name='items.2.quantity']").fill("7")
    assert page.locator("[name='items.0.quantity']").input_value() == "2"
    page.get_by_role("button", name="row 3").click()
    page.locator("[name='items.2.quantity']").wait_for(state="detached")
    if script:
        assert page.url.endswith("/orders/create")
    save(page)
    page.locator("[name='items.1.quantity'][aria-invalid]").wait_for()
    if script:
        assert barriers(page) == []
        assert overflows(page) == {}
    page.locator("[name='items.1.quantity']").fill("1")
    save(page)
    page.get_by_text("1,259.50\xa0EUR").wait_for()


def test_without_script_a_row_is_found_by_a_button_and_nothing_typed_is_lost(watched, state, pegs):
    page = watched.page(storage_state=state, java_script_enabled=False)
    page.goto(f"{watched.url}{ROOT}/orders/create")
    page.locator("#f-note").fill("Kept")
    page.get_by_label("Find: Product").fill("Peg 20")
    page.locator("button[name=_find]").click()
    page.locator("[name='items.0.product_id']").select_option("Peg 20")
    page.locator("[name='items.0.quantity']").fill("3")
    page.get_by_role("button", name="Add a row").click()
    assert page.locator("[name='items.0.product_id'] option:checked").inner_text() == "Peg 20"
    save(page)
    page.get_by_text("0.30\xa0EUR").wait_for()
    assert "Kept" in page.locator("main").inner_text()


@each_way
def test_the_account_page_changes_name_language_and_password(script, browser, watched, service):
    email, first, second = f"own-{script}@example.org".lower(), PASSWORD, "nine slow ferries at dawn"
    status, answer = service.call("POST", "/api/users", {
        "name": "Own", "email": email, "password": first, "role": "user"}, service.log_in())
    assert status == 201, answer
    page = watched.page(390, java_script_enabled=script)

    def log_in(password):
        page.goto(f"{watched.url}/console/login")
        page.locator("#email").fill(email)
        page.locator("#password").fill(password)
        page.locator("main button").click()

    log_in(first)
    page.goto(f"{watched.url}/console/account")
    page.locator("input[name=name]").fill("Own name")
    page.locator("form", has=page.locator("input[name=name]")).get_by_role("button").click()
    page.get_by_role("link", name="Own name").wait_for()
    form = page.locator("form", has=page.locator("input[name=repeated]"))
    for field, text in (("current_password", first), ("new_password", second), ("repeated", second)):
        form.locator(f"[name={field}]").fill(text)
    form.get_by_role("button").click()
    page.get_by_text("Saved.", exact=True).wait_for()
    page.locator("select[name=language]").select_option("de")
    page.locator("form", has=page.locator("select[name=language]")).get_by_role("button").click()
    page.get_by_role("button", name="Abmelden").click()
    log_in(second)
    page.get_by_role("link", name="Own name").wait_for()


@each_way
def test_a_new_role_leads_to_its_line(script, watched, state):
    page = watched.page(storage_state=state, java_script_enabled=script)
    page.goto(f"{watched.url}/console/rules")
    page.get_by_role("link", name="New role").click()
    page.locator("#name").fill("apprentice")
    page.locator("#inherits").select_option("user")
    page.get_by_role("button", name="Continue").click()
    page.locator("#text").wait_for()
    assert "g, apprentice, user\n" in page.locator("#text").input_value()


def test_a_row_is_found_while_one_types_and_nothing_typed_is_lost(watched, state, pegs):
    page = watched.page(storage_state=state)
    page.goto(f"{watched.url}{ROOT}/orders/create")
    page.locator("#f-note").fill("Kept")
    page.evaluate("document.body.dataset.kept = 'yes'")
    search = page.get_by_label("Find: Product")
    search.press_sequentially("Peg 20")
    page.locator("[id='f-items.0.product_id'] option:checked:has-text('Peg 20')").wait_for(state="attached")
    assert page.evaluate("document.activeElement.name") == "_find_items.0.product_id"
    search.fill("Nowhere")
    search.press("Enter")
    page.get_by_text("No matching rows.").wait_for()
    assert page.locator("#f-note").input_value() == "Kept"
    assert page.locator("body").get_attribute("data-kept") == "yes" and page.url.endswith("/orders/create")
    page.get_by_role("button", name="Add a row").press("Enter")
    page.locator("[id='f-items.1.product_id']:focus").wait_for()


@each_way
def test_a_token_has_the_scopes_that_were_checked(script, watched, state):
    page = watched.page(390, storage_state=state, java_script_enabled=script)
    page.goto(f"{watched.url}{ROOT}/tokens/create")
    page.get_by_label("Name").fill(f"Copy {script}")
    page.get_by_label("read:articles").check()
    page.get_by_label("write:orders").check()
    save(page)
    page.locator("code").first.wait_for()
    page.goto(f"{watched.url}{ROOT}/tokens")
    row = page.locator("tr", has_text=f"Copy {script}")
    assert row.count() == 1
