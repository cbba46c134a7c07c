"""Rules of fourteen roles in a browser: the table at two widths, in both colour schemes, and by keyboard alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.visits import ADMIN, barriers, overflow
from tests.running import PASSWORD, Instance, Served

pytestmark = pytest.mark.slow  # a browser and a served instance

RULES = "/console/rules"
OWN = ("apprentice", "field-staff", "night-shift-supervisor", "accounting", "warehouse")
CELL = "warehouse order.ship"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with the full rule set and five more roles, of thirty users."""
    instance = Instance(tmp_path_factory.mktemp("roles") / "instance", {"GATEPOST_RATE_LIMITS": "off"})
    done = instance.run("init", "--no-demo", "--admin-email", ADMIN, "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    policies = instance.folder / "policies"
    for name, lines in (("roles.csv", [f"g, {role}, user" for role in OWN]),
                        ("orders.csv", ["p, warehouse, order.view, always, allow",
                                        "p, warehouse, order.ship, always, allow"])):
        file = policies / name
        file.write_text(file.read_text().replace("# end", "\n".join([*lines, "# end"])))
    users = "".join(f'{{"name": "User {number:02}", "email": "u{number}@example.org", "role": "{OWN[number % 5]}"}}\n'
                    for number in range(30))
    done = instance.run("import", "users", "-", "--format", "ndjson", input=users)
    assert done.returncode == 0, done.stderr
    with instance.served() as found:
        yield found


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_pages_with_fourteen_roles_fit_and_have_no_barriers(scheme, width, watched, state):
    page = watched.page(width, storage_state=state, color_scheme=scheme, reduced_motion="reduce")
    for path in ("/console/overview", f"{RULES}?resource=order", f"{RULES}?resource=order&cell={CELL}",
                 "/console/people", "/console/people/roles", "/console/try?file=roles.csv"):
        page.goto(f"{watched.url}{path}")
        assert barriers(page) == [], path
        assert overflow(page) <= 0, path


def test_the_last_role_is_reached_and_its_row_and_resource_stay_named(watched, state):
    page = watched.page(storage_state=state)
    page.goto(f"{watched.url}{RULES}")
    box = page.locator(".matrix .scroll")
    box.evaluate("box => box.scrollTo(box.scrollWidth, 200)")
    left = box.bounding_box()["x"]
    for part in (".matrix .group span", ".matrix tbody tr:nth-child(5) th"):
        assert left <= page.locator(part).nth(1).bounding_box()["x"] < left + 60, part
    assert page.locator(".matrix thead th").last.inner_text() == "warehouse"


def test_the_rules_of_a_cell_are_opened_and_closed_by_keyboard(watched, state):
    page = watched.page(storage_state=state, reduced_motion="reduce")
    page.goto(f"{watched.url}{RULES}?resource=order&role=warehouse")
    page.locator("#resource").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.locator(".matrix td a:focus", has_text="order.ship").count():
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel:focus")
    assert "warehouse may order.ship" in page.locator(".panel").inner_text()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "Close"
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel", state="detached")
    assert "order.ship" in page.locator(":focus").inner_text(), "where the reader was"


def test_a_phone_shows_the_last_of_fourteen_roles_by_keyboard(watched, state):
    page = watched.page(390, storage_state=state)
    page.goto(f"{watched.url}{RULES}?resource=order")
    page.locator(".roles input:checked").focus()
    page.keyboard.press("ArrowLeft")  # to guest
    page.keyboard.press("ArrowLeft")  # to the last
    assert page.evaluate("document.activeElement.labels[0].innerText") == "warehouse"
    ship = page.locator(".matrix tbody tr", has=page.get_by_role("rowheader", name="ship", exact=True))
    assert ship.locator("td:visible").count() == 1
    assert page.locator(".matrix td a:visible", has_text="order.ship").count() == 1
