"""Rows as files in the console: CSV of a list, and an import after a preview that stores nothing."""

from __future__ import annotations

import csv
import io

import pytest

from blueprints.console.data.files import LARGEST, comma_separated
from models.base import Rows
from models.tables.product import Product
from tests.http.console.pages import Seen, visit

LIST = "/console/data/products"
IMPORT = f"{LIST}/import"
ORIGIN = {"Origin": "http://localhost"}
HEAD = "sku,name,price,currency,stock\n"


@pytest.fixture
def admin(app):
    return visit(app, "admin")


def preview(visitor, content, name="products.csv", **fields):
    """Sends a file as a browser does. Werkzeug's client would leave files open."""
    content = content if isinstance(content, bytes) else content.encode()
    parts = [f'name="{key}"\r\n\r\n{value}'.encode() for key, value in {"key": "sku", **fields}.items()]
    parts.append(f'name="file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'.encode() + content)
    body = b"".join(b"--edge\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--edge--\r\n"
    return visitor.client.post(IMPORT, data=body, headers=ORIGIN, content_type="multipart/form-data; boundary=edge")


def confirm(visitor, answer, **fields):
    """Sends the form of a preview."""
    form = Seen.of(answer).form(IMPORT)
    return visitor.client.post(IMPORT, data={**form.fields, **fields}, headers=ORIGIN,
                               content_type="multipart/form-data")


def products(given, prefix):
    with given.database.connected():
        return {row.sku: row for row in Rows(Product, given.tenant_id).select() if row.sku.startswith(prefix)}


# The export

def test_a_list_is_exported_with_its_filters(admin, given):
    for name, status in (("Kettle red", "draft"), ("Kettle blue", "active"), ("Lamp", "draft")):
        given.product(name=name, status=status)
    page = admin.page(f"{LIST}?q=kettle&status=draft")
    link = next(one for one in page.links if one.startswith(f"{LIST}/export"))
    answer = admin.get(link)
    assert answer.status_code == 200 and answer.mimetype == "text/csv"
    assert "attachment" in answer.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["name"] for row in rows] == ["Kettle red"]


def test_an_export_needs_a_login_and_its_permission(app, given):
    assert visit(app).get(f"{LIST}/export").status_code == 303
    visitor = visit(app, "user")
    assert visitor.get(f"{LIST}/export").status_code in (200, 403)
    assert "/users/export" not in " ".join(visitor.page("/console/data/users").links)
    assert visitor.get("/console/data/users/export").status_code == 403
    assert visit(app, "admin").get(f"{LIST}/export?colour=red").status_code == 400


# The import

@pytest.mark.both_databases
def test_a_file_is_shown_before_it_is_imported(admin, given):
    given.product(sku="file-1", name="Old", price=1250, currency="EUR", stock=4)
    given.product(sku="file-2", name="Same", price=100, currency="EUR", stock=4)
    content = (f"{HEAD}file-1,Old,1300,EUR,4\nfile-2,Same,100,EUR,4\nfile-3,New,99,EUR,1\nfile-4,Bad,cheap,EUR,1\n"
               "file-5,,5,EUR,1\n")
    answer = preview(admin, content)
    page = Seen.of(answer)
    assert answer.status_code == 200
    for text in ("new: 1", "changed: 1", "unchanged: 1", "faulty: 2", "12.50\N{NO-BREAK SPACE}EUR", "Import 2 rows"):
        assert text.replace("\N{NO-BREAK SPACE}", " ") in page.text.replace("\N{NO-BREAK SPACE}", " "), text
    assert "13.00 EUR" in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert {sku: row.price for sku, row in products(given, "file-").items()} == {"file-1": 1250, "file-2": 100}
    done = confirm(admin, answer)
    assert done.status_code == 200 and "New rows: 1. Existing rows: 2. Lines left out: 2." in Seen.of(done).text
    assert {sku: row.price for sku, row in products(given, "file-").items()} == {
        "file-1": 1300, "file-2": 100, "file-3": 99}


def test_a_second_confirmation_imports_nothing_more(admin, given):
    assert preview(admin, f"{HEAD}twice-1,One,1,EUR,1\n", key="colour").status_code == 400
    answer = preview(admin, "name,sku,price,currency\nOne,twice-1,1,EUR\n")
    first, second = confirm(admin, answer), confirm(admin, answer)
    assert "New rows: 1." in Seen.of(first).text and "New rows: 1." in Seen.of(second).text
    assert list(products(given, "twice-")) == ["twice-1"]


def test_line_breaks_and_letters_of_a_file_arrive_as_they_were(admin, given):
    content = 'sku,name,price,currency,description\nbreaks-1,"Größe",1,EUR,"one\ntwo\r\nthree"\n'
    assert confirm(admin, preview(admin, content)).status_code == 200
    kept = products(given, "breaks-")["breaks-1"]
    assert (kept.name, kept.description) == ("Größe", "one\ntwo\r\nthree")


def test_semicolons_and_tabs_are_read_as_spreadsheets_write_them(admin, given):
    assert comma_separated(b"a;b\n1;\"x;y\"\n") == b"a,b\n1,x;y\n"
    assert comma_separated("\ufeffa\tb\n1\t2,5\n".encode()) == b'a,b\n1,"2,5"\n'
    for content in (b"a,b\n1;2,3\n", b"a\n", b"", b"a;b\n\xff;1\n"):
        assert comma_separated(content) == content
    answer = preview(admin, "sku;name;price;currency\nsemi-1;Lamp;100;EUR\nsemi-2;;1;EUR\n")
    assert "new: 1" in Seen.of(answer).text and "faulty: 1" in Seen.of(answer).text


def test_ndjson_is_read_by_its_name(admin, given):
    answer = preview(admin, '{"sku": "lines-1", "name": "Lamp", "price": 1, "currency": "EUR"}\n{"sku": 1}\n',
                     name="rows.ndjson")
    assert "new: 1" in Seen.of(answer).text and "faulty: 1" in Seen.of(answer).text


@pytest.mark.parametrize(("content", "status", "text"), [
    (b"", 400, "Select a file"),
    (b"\x89PNG\r\n\x1a\n\x00\x00\xff\xfe", 400, ""),
    (b"sku,name,colour\na,b,c\n", 400, "There is no such field."),
    (b"sku,name\n\"open,1\n", 400, "not CSV"),
    (b"sku;name\na;b\n\"open;1\n", 400, "not CSV"),
    ("sku;name\na;M\u00fctze\n".encode("latin-1"), 400, "Save it as CSV in UTF-8."),
    (b"nothing of this\nis a table\n", 400, "the names of the columns"),
    (b"x" * (LARGEST + 1), 413, "MiB"),
    (b"x" * (3 * LARGEST), 413, "The file has more than 1 MiB."),
    (b"sku,name\n" + b"a\n" * 1200, 400, "")])
def test_what_is_no_file_of_rows_is_refused_beside_the_form(content, status, text, admin):
    answer = preview(admin, content)
    seen = Seen.of(answer)
    assert answer.status_code == status and text in seen.text
    assert seen.form(IMPORT)


def test_other_bodies_are_refused(admin, given):
    def post(**more):
        return admin.client.post(IMPORT, headers=ORIGIN, **more).status_code

    assert post(data={"key": "sku"}) == 415
    assert post(data=b"--x", content_type="multipart/form-data; boundary=x") == 400
    assert post(data=b"--x", content_type="multipart/form-data") == 400
    kept = {"name": "a.csv", "key": "sku", "sure": "yes"}
    assert post(data={**kept, "kept": "not base64 !"}, content_type="multipart/form-data") == 400
    assert post(data={**kept, "kept": "\xff"}, content_type="multipart/form-data") == 400
    assert post(data={**kept, "kept": ""}, content_type="multipart/form-data") == 400
    assert post(data={f"x{number}": "y" for number in range(50)}, content_type="multipart/form-data") in (400, 413)
    assert post(data={**kept, "kept": "c2t1Cg==", "_key": "\r\n\" "}, content_type="multipart/form-data") == 400
    evil = admin.client.post(IMPORT, data=kept, headers={"Origin": "https://evil.example"},
                             content_type="multipart/form-data")
    assert evil.status_code == 403


def test_who_may_not_import_sees_and_sends_no_form(app, given):
    visitor = visit(app, "user")
    assert IMPORT not in visitor.page(LIST).links
    assert visitor.get(IMPORT).status_code == 403
    assert preview(visitor, f"{HEAD}no-1,No,1,EUR,1\n").status_code == 403
    assert visit(app).get(IMPORT).status_code == 303
    assert products(given, "no-") == {}


def test_a_preview_names_no_row_that_its_reader_may_not_view(app, given, elsewhere):
    foreign = elsewhere.product(sku="foreign-1", name="Foreign name")
    answer = preview(visit(app, "admin"), f"id,name\n{foreign.id},Mine\n")
    assert "Foreign name" not in answer.text and "faulty: 1" in Seen.of(answer).text


def test_a_long_preview_lists_its_first_thousand_lines(admin, given):
    content = HEAD + "".join(f"many-{number},Name,1,EUR,1\n" for number in range(1100))
    page = Seen.of(preview(admin, content))
    assert "new: 1100" in page.text and "The first 1000 of 1100 lines." in page.text
    assert products(given, "many-") == {}
