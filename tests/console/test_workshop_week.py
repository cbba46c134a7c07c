"""A week of a workshop with seven people, who work in the console alone and have no terminal.

It begins with the small rule set. Authorization and limits are on, as in any other service. Each day is one step of the
story, and each person has a browser and a language of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.console.conftest import Watched
from tests.console.visits import ADMIN, barriers, cookies_of, overflow
from tests.running import PASSWORD, Instance

pytestmark = pytest.mark.slow  # a browser and a served instance

DATA = "/console/data"
GERMAN, ENGLISH = "de-DE", "en-GB"
OWN_PRODUCTS = "p, user, product.create, own, allow\np, user, product.view, own, allow"


@dataclass
class Person:
    """Somebody of the workshop, with a browser after the invitation."""

    name: str
    role: str
    language: str
    width: int = 1440
    password: str = ""
    browser: Any = None

    @property
    def email(self) -> str:
        return f"{self.name.lower()}@workshop.example"


OLGA = Person("Olga", "owner", GERMAN)
STAN = Person("Stan", "staff", ENGLISH)
GRETA = Person("Greta", "staff", GERMAN)
ANN, BEN, CEM = Person("Ann", "user", ENGLISH), Person("Ben", "user", ENGLISH), Person("Cem", "user", GERMAN, 390)
MIA = Person("Mia", "user", ENGLISH, 390)  # the apprentice, with a phone
SEVEN = (OLGA, STAN, GRETA, ANN, BEN, CEM, MIA)
# Name, SKU, the price as it is typed, and as a reader of English and one of German see it.
PRODUCTS = (
    (STAN, "Oak stool", "stool", "12.50", "12.50\xa0EUR", "12,50\xa0EUR"),
    (STAN, "Ash table", "table", "1,249.00 EUR", "1,249.00\xa0EUR", "1.249,00\xa0EUR"),
    (STAN, "Wax", "wax", "7", "7.00\xa0EUR", "7,00\xa0EUR"),
    (GRETA, "Hobel", "plane", "12,50", "12.50\xa0EUR", "12,50\xa0EUR"),
    (GRETA, "Werkbank", "bench", "2.380,90", "2,380.90\xa0EUR", "2.380,90\xa0EUR"),
)


@dataclass
class Workshop:
    """The workshop's instance, and the pages of its people."""

    instance: Instance
    watched: Watched
    boss: Any  # the page of the administrator

    def at(self, person: Person, path: str) -> Any:
        """Opens a page in the browser of a person."""
        person.browser.goto(self.watched.url + path)
        return person.browser

    def looked_at(self, page: Any) -> None:
        assert barriers(page) == [], page.url
        assert overflow(page) <= 0, page.url


@pytest.fixture
def workshop(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    instance = Instance(tmp_path_factory.mktemp("workshop") / "instance", {
        "GATEPOST_POLICY_EDIT": "on", "GATEPOST_EXPLAIN_REFUSALS": "self", "GATEPOST_TIME_ZONE": "Europe/Berlin"})
    done = instance.run("init", "--rules", "small", "--no-demo", "--admin-email", ADMIN, "--admin-password-file", "-",
                        input=PASSWORD)
    assert done.returncode == 0, done.stderr
    with instance.served() as service:
        watched = Watched(browser, service.url)
        boss = watched.page(storage_state=cookies_of(browser, service.url), locale=ENGLISH, reduced_motion="reduce")
        yield Workshop(instance, watched, boss)
        watched.close()


def test_a_workshop_works_a_week_without_a_terminal(workshop: Workshop) -> None:
    seven_people_are_invited_by_links(workshop)
    five_products_get_prices_in_two_languages(workshop)
    twenty_orders_with_items_are_placed(workshop)
    the_apprentice_is_refused_and_told_why(workshop)
    a_rule_is_tried_applied_and_undone(workshop)
    a_file_of_forty_rows_with_three_faults_is_imported(workshop)
    a_forgotten_password_is_replaced(workshop)
    a_backup_is_made_and_verified(workshop)


def press(page: Any, name: str | re.Pattern[str]) -> None:
    page.get_by_role("button", name=name, exact=isinstance(name, str)).click()


def save(page: Any) -> None:
    page.locator("#form button.button:not(.quiet)").last.click()


def log_in(workshop: Workshop, person: Person, password: str) -> None:
    page = workshop.at(person, "/console/login")
    page.locator("#email").fill(person.email)
    page.locator("#password").fill(password)
    page.locator("main button").click()


def choose_a_password(workshop: Workshop, person: Person, link: str, password: str) -> None:
    """Opens a link in a new browser, chooses a password with it, and logs in."""
    page = person.browser = workshop.watched.page(person.width, locale=person.language, reduced_motion="reduce")
    page.goto(workshop.watched.url + link)
    page.locator("#new_password").fill(password)
    page.locator("#repeated").fill(password)
    page.locator("main button").click()
    page.locator("main a.button").click()
    log_in(workshop, person, password)
    page.get_by_role("link", name=re.compile(person.name)).first.wait_for()
    person.password = password


def seven_people_are_invited_by_links(workshop: Workshop) -> None:
    for person in SEVEN:
        page = workshop.boss
        page.goto(f"{workshop.watched.url}/console/people")
        page.get_by_role("link", name="New user").click()
        page.get_by_label("Name").fill(person.name)
        page.get_by_label("E-mail").fill(person.email)
        page.get_by_label("Role").select_option(person.role)
        press(page, "Create user")
        press(page, "Create link")
        link = page.get_by_label("Link").input_value()
        choose_a_password(workshop, person, link, f"the own words of {person.name}")
    page = workshop.at(MIA, "/console")
    assert page.url.startswith(f"{workshop.watched.url}{DATA}/"), "she sees data first, and no rules"
    page = workshop.at(OLGA, "/console")
    assert page.url.endswith("/console/overview")


def five_products_get_prices_in_two_languages(workshop: Workshop) -> None:
    for person, name, sku, price, *_ in PRODUCTS:
        page = workshop.at(person, f"{DATA}/products/create")
        page.locator("#f-name").fill(name)
        page.locator("#f-sku").fill(sku)
        page.locator("#f-price").fill(price)
        page.locator("#f-currency").fill("EUR")
        page.locator("#f-stock").fill("100")
        save(page)
        page.locator("form[action$='/publish'] button").click()
        page.locator("form[action$='/archive']").wait_for()
    for reader, column in ((ANN, 4), (CEM, 5)):
        page = workshop.at(reader, f"{DATA}/products")
        for product in PRODUCTS:
            assert product[column] in page.locator("tr", has_text=product[1]).inner_text(), product


def twenty_orders_with_items_are_placed(workshop: Workshop) -> None:
    for number in range(20):
        page = workshop.at((ANN, BEN, CEM, MIA)[number % 4], f"{DATA}/orders/create")
        wanted = [PRODUCTS[(number + step) % len(PRODUCTS)][1] for step in range(1 + number % 3)]
        for row, product in enumerate(wanted):
            if row:
                page.locator("#f-items").click()
            page.locator(f"[name='items.{row}.product_id']").select_option(product)
            page.locator(f"[name='items.{row}.quantity']").fill(str(row + 1))
        page.locator("#f-note").fill(f"Order {number}")
        save(page)
        page.locator("form[action$='/cancel']").wait_for()
        if number == 2:  # in German, on a phone
            total = "7.174,70\xa0EUR"
            assert total in page.locator("main").inner_text(), "1 wax, 2 planes, and 3 benches"
    page = workshop.at(STAN, f"{DATA}/orders?status=pending")
    assert page.locator("tbody tr").count() == 20
    for box in page.get_by_role("checkbox").all()[:5]:
        box.check()
    press(page, "approve")
    page.get_by_text("Done: 5 of 5 rows.").wait_for()
    page = workshop.at(MIA, f"{DATA}/orders")
    assert page.locator("tbody tr").count() == 5, "her own alone"
    workshop.looked_at(page)


def the_apprentice_is_refused_and_told_why(workshop: Workshop) -> None:
    page = workshop.at(MIA, f"{DATA}/products")
    assert page.get_by_role("link", name="New", exact=True).count() == 0
    workshop.watched.expected |= {403}
    page = workshop.at(MIA, f"{DATA}/products/create")  # somebody sent her the address
    text = page.locator("main").inner_text()
    assert "product.create" in text
    assert "no rule lets a user do this" in text
    assert "role user" in text and "administrator" in text, "whom to ask"
    workshop.looked_at(page)
    # The owner finds the same reason, and where to change it.
    page = workshop.at(OLGA, "/console/rules")
    page.locator("#ask-as").fill(MIA.email)
    page.locator("#ask-permission").fill("product.create")
    page.locator("#ask-permission").press("Enter")
    page.wait_for_selector(".verdict.no")
    assert "Mia" in page.locator(".verdict").inner_text()
    workshop.looked_at(page)


def a_rule_is_tried_applied_and_undone(workshop: Workshop) -> None:
    page = workshop.boss
    page.goto(f"{workshop.watched.url}/console/try?file=products.csv")
    text = page.locator("#text")
    text.fill(text.input_value().replace("# end", f"{OWN_PRODUCTS}\n# end"))
    press(page, "Try")
    page.wait_for_selector(".verdict.yes", timeout=60_000)
    assert "product.create" in page.locator("#found .turns").inner_text()
    page.get_by_label("Note for the policy history").fill("Everyone may propose products")
    press(page, "Apply")
    page.get_by_text("Everyone may propose products").first.wait_for()

    hers = workshop.at(MIA, f"{DATA}/products")
    hers.get_by_role("link", name="New", exact=True).click()
    hers.locator("#f-name").fill("Coat hook")
    hers.locator("#f-sku").fill("hook")
    hers.locator("#f-price").fill("4.20")
    hers.locator("#f-currency").fill("EUR")
    save(hers)
    hers.get_by_text("4.20\xa0EUR").wait_for()
    assert hers.locator("form[action$='/publish']").count() == 0, "Stan decides what is sold"

    page.get_by_role("link", name="Undo").click()
    press(page, "Restore this version")
    page.get_by_text("This is the active version.").wait_for(timeout=60_000)
    workshop.at(MIA, f"{DATA}/products/create")
    assert "product.create" in hers.locator("main").inner_text()


def a_file_of_forty_rows_with_three_faults_is_imported(workshop: Workshop) -> None:
    lines = [f"part-{number};Teil {number};{100 + number};EUR;{number}" for number in range(40)]
    faulty = list(lines)
    faulty[3], faulty[20], faulty[39] = "part-3;Teil 3;billig;EUR;3", "part-20;;120;EUR;20", "part-39;Teil 39;139;EUR"

    def select(rows: list[str]) -> None:
        page.set_input_files("#file", {"name": "teile.csv", "mimeType": "text/csv", "buffer": "\r\n".join([
            "sku;name;price;currency;stock", *rows]).encode()})
        press(page, "Vorschau")

    page = workshop.at(GRETA, f"{DATA}/products")
    page.locator("a[href$='/products/import']").click()
    select(faulty)
    faults = page.locator("section:has(h2:text('Fehlerhafte Zeilen')) tbody th")
    faults.first.wait_for()
    assert faults.all_inner_texts() == ["5", "22", "41"]
    workshop.looked_at(page)
    assert workshop.at(GRETA, f"{DATA}/products?q=Teil").locator("tbody tr").count() == 0, "nothing is stored"
    page = workshop.at(GRETA, f"{DATA}/products/import")
    select(lines)
    press(page, re.compile("^40 "))
    page.get_by_text("Neue Zeilen: 40.").wait_for()
    workshop.at(GRETA, f"{DATA}/products?q=Teil").get_by_role("link", name="Gesamtzahl anzeigen").click()
    page.get_by_text("40 insgesamt").wait_for()


def a_forgotten_password_is_replaced(workshop: Workshop) -> None:
    workshop.watched.expected |= {401, 404}
    former, old = BEN.password, BEN.browser
    page = workshop.boss
    page.goto(f"{workshop.watched.url}/console/people")
    page.get_by_role("link", name="Ben").click()
    page.get_by_role("link", name="Password link").click()
    press(page, "Create link")
    link = page.get_by_label("Link").input_value()
    choose_a_password(workshop, BEN, link, "three words that stay")
    old.goto(f"{workshop.watched.url}{DATA}/orders")
    assert "/console/login" in old.url, "his other devices are logged out"
    BEN.browser, new = old, BEN.browser
    log_in(workshop, BEN, former)
    old.get_by_role("alert").wait_for()
    assert "/console/login" in old.url, "the former password is refused"
    BEN.browser = new
    old.goto(workshop.watched.url + link)
    assert "This link is not valid." in old.locator("main").inner_text()
    assert workshop.at(BEN, f"{DATA}/orders").locator("tbody tr").count() == 5


def a_backup_is_made_and_verified(workshop: Workshop) -> None:
    page = workshop.boss
    page.goto(f"{workshop.watched.url}/console/overview")
    page.get_by_role("link", name="Make the first backup").click()
    press(page, "Make a backup")
    page.get_by_role("link", name="Auto-refresh", exact=True).click()
    page.get_by_text("verified", exact=True).wait_for(timeout=60_000)
    workshop.looked_at(page)
    made = list((workshop.instance.folder / "backups").glob("*.tar.gz*"))
    assert len(made) == 1
    done = workshop.instance.run("restore", "--verify", str(made[0]))
    assert done.returncode == 0, done.stderr
