"""Forms of a plugin's collection: amounts, times, rows and known values need nothing but the declaration."""

from __future__ import annotations

import pytest

from gatepost.collections.plugins.discovery import discover
from models.engine.connect import open_database
from models.migrate import upgrade
from tests.apps import Given, close, make_app, new_instance
from tests.databases import new_database
from tests.http.console.desk.quotes import Quote, Quotes
from tests.http.console.pages import Seen, visit

ROOT = "/console/data/quotes"
CREATE = f"{ROOT}/create"


@pytest.fixture(scope="module")
def desk(request, tmp_path_factory):
    """A service with quotes, in Berlin."""
    url = new_database("sqlite", request, migrated=False)
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    upgrade(database, discover([Quotes]).migrations)
    database.close_all()
    made = make_app(new_instance(tmp_path_factory.mktemp("desk") / "instance", url, "default"), url, [Quotes],
                    time_zone="Europe/Berlin")
    yield made
    close(made)


@pytest.fixture(scope="module")
def clerk(desk):
    return visit(desk, "user")


@pytest.fixture(scope="module")
def kept(desk):
    return Given(desk, "default")


def stored(visitor, kept, answer) -> Quote:
    assert answer.status_code == 303, Seen.of(answer).text
    return kept.found(Quote, answer.headers["Location"].rpartition("/")[2])


def drawn(visitor, path, lang="en"):
    """The form of a page as a browser would send it."""
    return Seen.of(visitor.get(f"{path}?lang={lang}")).form(path).fields


def make(visitor, kept, lang="en", **values) -> Quote:
    form = {**drawn(visitor, CREATE), "title": "A quote", "price": "13", "currency": "EUR", **values}
    return stored(visitor, kept, visitor.post(f"{CREATE}?lang={lang}", form))


def faults(answer) -> dict[str, str]:
    """Field → the faults beside it."""
    page, found = Seen.of(answer), {}
    for tag, given in page.tags:
        if given.get("id", "").startswith("e-"):
            found.setdefault(given["id"][2:].rpartition("-")[0], tag)
    return found


@pytest.mark.parametrize(("text", "currency", "lang", "minor"), [
    ("13", "EUR", "en", 1300), ("12,50", "EUR", "en", 1250), ("12.50 EUR", "EUR", "de", 1250),
    ("1.234,50", "EUR", "en", 123_450), ("1,234.50 €", "EUR", "de", 123_450), ("1.234", "EUR", "de", 123_400),
    ("500", "JPY", "en", 500), ("1.500", "KWD", "en", 1500), ("1,500", "KWD", "de", 1500), ("0", "EUR", "en", 0)])
def test_a_price_is_stored_as_it_was_meant_and_shown_as_it_is_read(text, currency, lang, minor, clerk, kept):
    quote = make(clerk, kept, lang, price=text, currency=currency)
    assert quote.price == minor
    path = f"{ROOT}/{quote.id}/update"
    for language in ("en", "de"):
        form = drawn(clerk, path, language)
        assert stored(clerk, kept, clerk.post(f"{path}?lang={language}", form)).price == minor


@pytest.mark.parametrize(("text", "currency", "told"), [
    ("1.234", "EUR", "two meanings. Write 1234.00 or 1.23."), ("12.50", "JPY", "JPY has no decimals"),
    ("1,234", "KWD", "Write 1234.000 or 1.234."), ("12.50 USD", "EUR", "The amount is in USD"),
    ("twelve", "EUR", "as in 12.50"), ("12.505", "EUR", "two meanings"), ("12.5051", "EUR", "at most 2 decimals"),
    ("12.50", "euro", "Correct the currency"), ("12.50", "", "Enter the currency"), ("9" * 30, "EUR", "too large"),
    ("9" * 5000, "EUR", "not an amount"), ("1e3", "EUR", "not an amount"), ("NaN", "EUR", "not an amount"),
    ("-1", "EUR", "Must be greater than or equal to 0.00 and less than or equal to 10000000.00."),
    ("10000000,01", "EUR", "less than or equal to 10000000.00."), ("\N{ARABIC-INDIC DIGIT ONE}", "EUR", "amount")])
def test_what_is_no_amount_is_refused_beside_its_field(text, currency, told, clerk, kept):
    form = {**drawn(clerk, CREATE), "title": "Refused", "price": text, "currency": currency}
    answer = clerk.post(CREATE, form)
    assert answer.status_code == 400 and "price" in faults(answer) and told in Seen.of(answer).text
    assert Seen.of(answer).form(CREATE).fields["price"] == text


def test_faults_of_amounts_and_of_the_schema_are_told_together(clerk):
    answer = clerk.post(CREATE, {**drawn(clerk, CREATE), "title": "", "price": "1.234", "currency": "EUR"})
    assert {"title", "price"} <= faults(answer).keys()


def test_a_currency_may_be_part_of_the_declaration(clerk, kept):
    quote = make(clerk, kept, fee="7,50")
    assert quote.fee == 750
    assert "7.50 CHF" in clerk.page(f"{ROOT}/{quote.id}").text.replace("\N{NO-BREAK SPACE}", " ")
    path = f"{ROOT}/{quote.id}/update"
    assert stored(clerk, kept, clerk.post(path, {**drawn(clerk, path), "fee": ""})).fee is None


def test_an_action_takes_an_amount_in_the_currency_of_the_row(clerk, kept):
    quote = make(clerk, kept, currency="KWD", price="10")
    path = f"{ROOT}/{quote.id}/pay"
    form = drawn(clerk, path)
    assert form["_is_currency"] == "KWD" and "as in 12.500" in clerk.page(path).text
    assert clerk.post(path, {**form, "amount": "1.5"}).status_code == 303
    assert kept.found(Quote, quote.id).paid == 1500
    answer = clerk.post(path, {"amount": "1"})
    assert answer.status_code == 400 and "Enter the currency" in Seen.of(answer).text


def test_a_time_is_typed_in_the_zone_of_the_settings(clerk, kept):
    quote = make(clerk, kept, valid_until="2026-11-18T23:00")
    assert quote.valid_until == "2026-11-18T22:00:00.000000Z"
    path = f"{ROOT}/{quote.id}/update"
    assert drawn(clerk, path)["valid_until"] == "2026-11-18T23:00"
    assert stored(clerk, kept, clerk.post(path, {**drawn(clerk, path), "valid_until": ""})).valid_until is None


def test_a_stored_time_keeps_its_microseconds(clerk, kept):
    quote = make(clerk, kept, valid_until="2026-11-18T22:00:00.123456Z")
    path = f"{ROOT}/{quote.id}/update"
    form = drawn(clerk, path)
    assert form["valid_until"] == "2026-11-18T23:00:00.123"
    changed = stored(clerk, kept, clerk.post(path, {**form, "title": "Another"}))
    assert (changed.title, changed.valid_until) == ("Another", "2026-11-18T22:00:00.123456Z")


def test_a_skipped_time_is_refused_and_one_that_occurs_twice_is_asked_for(clerk, kept):
    form = {**drawn(clerk, CREATE), "title": "Night", "price": "1", "currency": "EUR"}
    skipped = clerk.post(CREATE, {**form, "valid_until": "2026-03-29T02:30"})
    assert skipped.status_code == 400 and "Write 2026-03-29 03:30." in Seen.of(skipped).text
    twice = clerk.post(CREATE, {**form, "valid_until": "2026-10-25T02:30"})
    again = Seen.of(twice).form(CREATE).fields
    assert twice.status_code == 400 and again["_offset_valid_until"] == ""
    quote = stored(clerk, kept, clerk.post(CREATE, {**again, "_offset_valid_until": "+01:00"}))
    assert quote.valid_until == "2026-10-25T01:30:00.000000Z"
    path = f"{ROOT}/{quote.id}/update"
    form = drawn(clerk, path)
    assert form["_offset_valid_until"] == "+01:00"
    assert stored(clerk, kept, clerk.post(path, form)).valid_until == "2026-10-25T01:30:00.000000Z"
    form["_offset_valid_until"] = "+02:00"
    assert stored(clerk, kept, clerk.post(path, {**form, "_version": drawn(clerk, path)["_version"], "_key": "k"})
                  ).valid_until == "2026-10-25T00:30:00.000000Z"


@pytest.mark.parametrize("text", ["teatime", "2026-02-30T10:00", "0001-01-01T00:00", "2026-11-18", "9" * 3000])
def test_what_is_no_time_is_refused_beside_its_field(text, clerk):
    form = {**drawn(clerk, CREATE), "title": "Refused", "price": "1", "currency": "EUR", "valid_until": text}
    answer = clerk.post(CREATE, form)
    assert answer.status_code == 400 and "Write it as in 2026-11-18 14:30." in Seen.of(answer).text
    assert Seen.of(answer).form(CREATE).fields["valid_until"] == text


def test_known_values_are_check_boxes(clerk, kept):
    page = clerk.page(CREATE)
    boxes = [given["value"] for tag, given in page.tags if given.get("type") == "checkbox"
             and given["name"] == "channels"]
    assert boxes == ["post", "mail", "phone"]
    assert {"user", "editor"} <= {given["value"] for tag, given in page.tags if given.get("name") == "readers"}
    quote = make(clerk, kept, channels=["", "mail", "phone"], readers=["", "editor", "editor"])
    assert (quote.channels, quote.readers) == (["mail", "phone"], ["editor"])
    path = f"{ROOT}/{quote.id}/update"
    form = drawn(clerk, path)
    assert form["channels"] == ["", "mail", "phone"]
    assert stored(clerk, kept, clerk.post(path, {**form, "channels": ""})).channels == []
    wrong = clerk.post(CREATE, {**drawn(clerk, CREATE), "channels": ["", "pigeon"]})
    assert wrong.status_code == 400 and "channels" in faults(wrong)


def lines(fields):
    """The names and values of the rows of a form."""
    return {name: value for name, value in fields.items() if name.startswith("lines.")}


def test_rows_are_added_removed_and_stored_in_their_order(clerk, kept):
    form = drawn(clerk, CREATE) | {"title": "Rows", "price": "1", "currency": "EUR", "lines.0.text": "First",
                                   "lines.0.amount": "12,50", "lines.0.from": "2026-07-01T12:00"}
    for number in (1, 2):
        answer = clerk.post(f"{CREATE}/again", {**form, "_add": "lines"})
        form = Seen.of(answer).form(CREATE).fields | {f"lines.{number}.text": f"Row {number}"}
        assert answer.status_code == 200 and form["lines.0.amount"] == "12,50" and "_add" not in form
    answer = clerk.post(f"{CREATE}/again", {**form, "_remove": "lines.1"})
    form = Seen.of(answer).form(CREATE).fields
    assert [form["lines.0.text"], form["lines.1.text"]] == ["First", "Row 2"] and "lines.2.text" not in form
    form = Seen.of(clerk.post(f"{CREATE}/again", {**form, "_add": "lines"})).form(CREATE).fields
    quote = stored(clerk, kept, clerk.post(CREATE, form))
    assert quote.lines == [{"text": "First", "amount": 1250, "from": "2026-07-01T10:00:00.000000Z"},
                           {"text": "Row 2"}]


def test_rows_are_changed_and_all_of_them_can_be_removed(clerk, kept):
    quote = make(clerk, kept, **{"lines.0.text": "One", "lines.0.amount": "1", "lines.4.text": "Two"})
    assert [line["text"] for line in quote.lines] == ["One", "Two"]
    path = f"{ROOT}/{quote.id}/update"
    form = drawn(clerk, path)
    assert form["lines.0.amount"] == "1.00"
    changed = stored(clerk, kept, clerk.post(path, {**form, "lines.1.text": "Second"}))
    assert [line["text"] for line in changed.lines] == ["One", "Second"]
    form = {name: value for name, value in drawn(clerk, path).items() if not name.startswith("lines.")}
    assert stored(clerk, kept, clerk.post(path, form)).lines == []
    form.pop("_rows")
    make_again = {**drawn(clerk, path), "lines.0.text": "Back"}
    assert len(stored(clerk, kept, clerk.post(path, make_again)).lines) == 1
    form |= {"_version": drawn(clerk, path)["_version"], "_key": "without-the-list"}
    assert len(stored(clerk, kept, clerk.post(path, form)).lines) == 1, "a form without the list does not change it"


def test_faults_stand_beside_the_row_and_empty_rows_are_left_out(clerk):
    answer = clerk.post(CREATE, {**drawn(clerk, CREATE), "title": "Rows", "price": "1", "currency": "EUR",
                                 "lines.0.text": "", "lines.3.text": "Good", "lines.3.amount": "1.234",
                                 "lines.5.amount": "-1", "lines.7.text": "x" * 41, "lines.7.optional": "perhaps"})
    found = faults(answer)
    assert answer.status_code == 400
    assert {"lines.0.amount", "lines.1.text", "lines.1.amount", "lines.2.text", "lines.2.optional"} == found.keys()
    fields = Seen.of(answer).form(CREATE).fields
    assert (fields["lines.0.text"], fields["lines.1.amount"], fields["lines.2.text"]) == ("Good", "-1", "x" * 41)
    assert "lines.3.text" not in fields


@pytest.mark.parametrize("name", [
    "lines", "lines.0", "lines.x.text", "lines.-1.text", "lines.01.text", "lines.0.owner_id", "lines.0.text.more",
    "lines.99999.text", "title.0.text", "lines.0.text\0", "_is_price", "_was_lines", "_find_lines.0.nothing",
    "__class__", "lines.\N{ARABIC-INDIC DIGIT ONE}.text", "paid.0"])
def test_unknown_names_are_refused(name, clerk):
    answer = clerk.post(CREATE, {**drawn(clerk, CREATE), "title": "Odd", "price": "1", "currency": "EUR", name: "1"})
    assert answer.status_code == 400 and "Unknown field." in Seen.of(answer).text


def test_too_many_rows_are_refused(clerk):
    form = {**drawn(clerk, CREATE), "title": "Many", "price": "1", "currency": "EUR"}
    many = clerk.post(CREATE, form | {f"lines.{number}.text": "x" for number in range(30)})
    assert many.status_code == 400 and "Enter at most 20 rows." in Seen.of(many).text
    assert clerk.post(CREATE, form | {f"lines.{number}.text": "x" for number in range(1000)}).status_code == 400


@pytest.mark.parametrize("own", [
    {"_add": "nothing"}, {"_add": "title"}, {"_add": "lines.0"}, {"_remove": "lines.9"}, {"_remove": "lines"},
    {"_find": "lines.7.product_id"}, {"_rows": "title"}, {"_is_currency": "EUR"}, {"_was_valid_until": "x" * 900},
    {"_offset_valid_until": "+99:99"}, {"_add": "lines.0.text"}])
def test_odd_values_of_the_forms_own_fields_are_harmless(own, clerk, kept):
    form = {**drawn(clerk, CREATE), "title": "Odd", "price": "13", "currency": "EUR"}
    assert clerk.post(f"{CREATE}/again", {**form, **own}).status_code == 200
    quote = stored(clerk, kept, clerk.post(CREATE, {**form, **own}))
    assert quote.price == 1300 and len(quote.lines) == 0


def test_a_name_that_was_sent_twice_has_its_last_value(clerk, kept):
    assert make(clerk, kept, price=["12", "13"]).price == 1300


def test_who_was_slower_sees_the_present_amounts_and_rows(clerk, kept, desk):
    quote = make(clerk, kept, **{"lines.0.text": "One"})
    path = f"{ROOT}/{quote.id}/update"
    old = drawn(clerk, path)
    assert clerk.post(path, {**drawn(clerk, path), "price": "14,00", "lines.0.text": "Uno"}).status_code == 303
    answer = clerk.post(path, {**old, "_key": "later", "price": "15.00"})
    text = Seen.of(answer).text.replace("\N{NO-BREAK SPACE}", " ")
    assert answer.status_code == 412 and "Current value: 14.00 EUR" in text and "Uno" in text
    assert text.count("Current value:") == 2
