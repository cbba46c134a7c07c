"""UUIDs are read in any case and written in lower case (RFC 9562 section 4): some clients write capitals only."""

from __future__ import annotations

import csv
import io
import json
from urllib.parse import quote

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from models.base import is_id, new_id, read_id, with_read_id
from models.tables.product import Product
from tests.apps import NO_ROW
from tests.http.console.pages import visit


@pytest.fixture(scope="module")
def admin(as_role):
    return as_role("admin")


def answered(answer, status=200):
    assert answer.status_code == status, answer.text
    return answer.get_json()


@drawn(st.uuids(), st.randoms(use_true_random=False))
def test_an_id_is_read_in_any_case(uuid, chance):
    text = "".join(chance.choice((letter.lower(), letter.upper())) for letter in str(uuid))
    assert read_id(text) == str(uuid) and is_id(str(uuid))
    assert [with_read_id(f"{kind}{text}") for kind in ("", "user:", "group:")] == [
        str(uuid), f"user:{uuid}", f"group:{text}"]


@drawn(st.text(max_size=40))
def test_any_other_text_is_none(text):
    assert read_id(text) is None and with_read_id(text) == text


@pytest.mark.both_databases
def test_in_the_path_of_every_request_about_a_row(admin, given):
    row = given.article("draft")
    path = f"/api/articles/{row.id.upper()}"
    assert answered(admin.get(path))["id"] == row.id
    assert answered(admin.patch(path, {"title": "Capitals"}))["id"] == row.id
    assert answered(admin.post(f"{path}/publish"))["id"] == row.id
    assert answered(admin.get(f"/api/pages/{given.page().id.upper()}"))["status"] == "published"
    assert admin.get(f"/api/articles/{NO_ROW.upper()}").status_code == 404
    assert admin.delete(path).status_code == 204
    assert given.found(type(row), row.id) is None


def test_in_the_trail_of_a_request_that_is_refused(app, as_role, given):
    row = given.article()
    answered(as_role("guest").delete(f"/api/articles/{row.id.upper()}"), 401)
    answered(as_role("user").delete(f"/api/articles/{row.id.upper()}"), 403)
    app.extensions["gatepost"].audit_writer.flush(early=True)
    rows = answered(as_role("admin").get(f"/api/audit?resource_id={row.id}"))["items"]
    assert sorted(one["role"] for one in rows) == ["guest", "user"]


@pytest.mark.both_databases
def test_in_filters_of_ids_references_and_principals(admin, as_user, given):
    category, author = given.category(), as_user("editor")
    row = given.article(category_id=category.id, owner_id=author.id)
    answered(author.patch(f"/api/articles/{row.id}", {"title": "Mine"}))
    for query in ({"category_id": category.id.upper()}, {"category": category.id.upper()},
                  {"category_id__in": f"{NO_ROW},{category.id.upper()}"}, {"owner_id": author.id.upper()}):
        assert [one["id"] for one in answered(admin.get("/api/articles", query_string=query))["items"]] == [row.id]
    for query in ({"principal": f"user:{author.id.upper()}"}, {"resource_id": row.id.upper()}):
        rows = answered(admin.get("/api/audit", query_string=query))["items"]
        assert rows and {one["principal"] for one in rows} == {f"user:{author.id}"}


@pytest.mark.both_databases
def test_in_references_that_a_body_sets_and_what_is_expanded(admin, given):
    category, product = given.category(), given.product()
    made = answered(admin.post("/api/articles", {"title": "T", "slug": new_id(), "body": "B",
                                                 "category_id": category.id.upper()}), 201)
    assert made["category_id"] == category.id
    shown = answered(admin.get(f"/api/articles/{made['id'].upper()}?expand=category"))
    assert shown["category"]["id"] == category.id
    order = answered(admin.post("/api/orders", {"items": [{"product_id": product.id.upper(), "quantity": 1}]}), 201)
    assert order["items"][0]["product_id"] == product.id


def test_in_read_only_fields_that_are_sent_back_as_they_were_read(admin, given):
    def in_capitals(value):
        if isinstance(value, dict):
            return {name: in_capitals(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [in_capitals(inner) for inner in value]
        return value.upper() if isinstance(value, str) and is_id(value) else value

    for path in (f"/api/articles/{given.article(category_id=given.category().id).id}",
                 f"/api/orders/{given.order(owner_id=admin.id).id}"):
        row = answered(admin.get(path))
        assert in_capitals(row) != row
        back = answered(admin.put(path, in_capitals(row)))
        assert {**back, "version": 0, "updated_at": 0} == {**row, "version": 0, "updated_at": 0}
        refused = answered(admin.put(path, {**back, "id": NO_ROW.upper()}), 400)
        assert [one["code"] for one in refused["errors"]] == ["read_only_field"]


@pytest.mark.both_databases
def test_in_a_grantee_who_is_shared_with_and_no_longer(as_user, given):
    ann, bob = as_user("user"), as_user("user")
    draft = given.article("draft", owner_id=ann.id)
    path, grantee = f"/api/articles/{draft.id.upper()}/shares", f"user:{bob.id.upper()}"
    for right in ("read", "write"):
        shown = answered(ann.put(path, {"grantee": grantee, "right": right}))["items"]
        assert [(one["grantee"], one["right"]) for one in shown] == [(f"user:{bob.id}", right)]
    assert bob.get(f"/api/articles/{draft.id}").status_code == 200
    assert ann.delete(f"{path}?grantee={quote(grantee)}").status_code == 204
    assert bob.get(f"/api/articles/{draft.id}").status_code == 404


def test_in_what_is_asked_about_the_policy(admin, as_user, given):
    user = as_user("user")
    row = given.article("draft", owner_id=user.id)
    who, id = user.id.upper(), row.id.upper()
    for path, query in {
            "explain": {"as": who, "permission": "article.update", "id": id},
            "who": {"permission": "article.update", "id": id},
            "visible": {"as": who, "collection": "articles", "ids": f"{id},{NO_ROW}"},
            "matrix": {"person": who}}.items():
        lower = {name: text.lower() for name, text in query.items()}
        found, wanted = (answered(admin.get(f"/api/admin/policy/{path}", query_string=one)) for one in (query, lower))
        found, wanted = ({**one, "as": ""} for one in (found, wanted))
        found.pop("circumstances", None), wanted.pop("circumstances", None)
        assert found == wanted, path
    answered(user.patch(f"/api/articles/{row.id}", {"title": "Mine"}))
    [event] = answered(admin.get(f"/api/audit?resource_id={row.id}"))["items"]
    assert answered(admin.get(f"/api/admin/policy/explain/{event['id'].upper()}"))["decisions"]


def test_in_what_authzen_asks(admin, as_user, given):
    user = as_user("user")
    row, token = given.article("draft", owner_id=user.id), given.service_token(user.user, scopes=["read:articles"])
    action = {"name": "view"}
    for kind, id in (("user", user.id), ("service", token.id)):
        asked = {"subject": {"type": kind, "id": id.upper()}, "action": action,
                 "resource": {"type": "article", "id": row.id.upper()}}
        assert answered(admin.post("/access/v1/evaluation", asked)) == {"decision": True}, kind
        several = answered(admin.post("/access/v1/evaluations", {**asked, "evaluations": [{"action": action}]}))
        assert several == {"evaluations": [{"decision": True}]}
        assert {"name": "view"} in answered(admin.post("/access/v1/search/action", asked))["results"]
    asked = {"subject": {"type": "user"}, "action": action, "resource": {"type": "article", "id": row.id.upper()}}
    assert {"type": "user", "id": user.id} in answered(admin.post("/access/v1/search/subject", asked))["results"]


def test_in_the_path_of_a_token_and_in_the_token(client, as_user):
    owner = as_user("admin")
    made = answered(owner.post("/api/tokens", {"name": "A program", "scopes": ["read:articles"]}), 201)
    token = made["token"].replace(made["id"], made["id"].upper())
    assert token != made["token"]
    assert client.get("/api/articles", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert owner.delete(f"/api/tokens/{made['id'].upper()}").status_code == 204
    assert client.get("/api/articles", headers={"Authorization": f"Bearer {token}"}).status_code == 401


@pytest.mark.both_databases
@pytest.mark.parametrize("media_type", ["application/x-ndjson", "text/csv"])
def test_in_lines_of_an_import_whether_they_make_a_row_or_change_one(admin, given, media_type):
    known, sku, category = given.product(), new_id(), given.category()
    lines = [{"id": id and id.upper(), "name": "Capitals", "sku": sku, "price": 1, "currency": "EUR",
              "category_id": category.id.upper(), "tenant_id": given.tenant_id.upper()}
             for id, sku in ((known.id, known.sku), (None, sku))]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]))
    writer.writeheader()
    writer.writerows(lines)
    body = text.getvalue() if media_type == "text/csv" else "\n".join(map(json.dumps, lines))
    answer = answered(admin.post("/api/products/import", data=body.encode(), content_type=media_type))
    assert (answer["imported"], answer["updated"], answer["failed"]) == (1, 1, 0), answer
    for one in lines:
        [row] = answered(admin.get(f"/api/products?sku={one['sku']}"))["items"]
        assert (row["name"], row["category_id"], row["tenant_id"]) == ("Capitals", category.id, given.tenant_id)
    assert given.found(Product, known.id).name == "Capitals"


def test_in_what_is_typed_on_the_console_and_in_its_paths(app, given):
    visitor, user = visit(app, "admin"), given.user(name="Konrad Capital")
    row = given.article("draft", owner_id=user.id, title="A draft of capitals")
    who, id = user.id.upper(), row.id.upper()
    for path in (f"/console/people/{who}", f"/console/data/articles/{id}", f"/console/rules?person={who}",
                 f"/console/data/articles?owner={who}",
                 f"/console/why?as={who}&permission=article.update&id={id}"):
        page = visitor.page(path)
        assert "Konrad Capital" in page.text or "A draft of capitals" in page.text, path

