"""The contract of every collection, as checks that pytest runs for each example: create, read, change, page, refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any, cast

import orjson
import pytest
from flask import Flask, request
from werkzeug.test import TestResponse

from gatepost.collections.collection import Collection
from gatepost.collections.plugins import tables
from gatepost.collections.plugins.findings import findings, unreachable
from gatepost.http.request.access import Access
from gatepost.http.request.call import Services
from gatepost.http.request.environment import RequestEnvironment
from gatepost.http.request.identity import guest
from models.base import Rows
from policies import Policy
from policies.syntax.attributes import Reads

from .serving import ABSENT, Caller, log_in

NOBODY = "01930000-0000-7000-8000-000000000000"  # an id that no row has
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Example:
    """Example bodies to create and change rows of a collection.

    body     takes an administrator and a number n; returns the body of the n-th row; may create rows that it refers to
    changes  the body of a PATCH that changes it
    actions  action → its body, for actions that take one
    """

    collection: type[Collection]
    body: Callable[[Caller, int], Mapping[str, Any]]
    changes: Mapping[str, Any]
    actions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


_numbers = count(1)


@dataclass
class World:
    """One example in one app, with its callers."""

    app: Flask
    example: Example

    @cached_property
    def admin(self) -> Caller:
        return log_in(self.app, "admin")

    @cached_property
    def stranger(self) -> Caller:
        """The administrator of another tenant."""
        return log_in(self.app, "admin", tenant="contract")

    @property
    def services(self) -> Services:
        services: Services = self.app.extensions["gatepost"]
        return services

    @property
    def collection(self) -> Collection:
        return cast(Collection, self.services.collections[self.example.collection.name])

    @property
    def path(self) -> str:
        return f"/api/{self.example.collection.name}"

    def body(self) -> dict[str, Any]:
        return dict(self.example.body(self.admin, next(_numbers)))

    def made(self) -> dict[str, Any]:
        """Creates a row, and returns it as answered."""
        answer = self.admin.post(self.path, self.body())
        assert answer.status_code == 201, answer.text
        row: dict[str, Any] = answer.get_json()
        return row


def refused(answer: TestResponse, status: int, code: str) -> None:
    """Asserts that the answer is a problem document with this status and code."""
    assert (answer.status_code, answer.mimetype) == (status, PROBLEM), answer.text
    assert answer.get_json()["code"] == code, answer.text
    assert answer.get_json()["request_id"] == answer.headers["X-Request-ID"]


def alike(actual: Mapping[str, Any], expected: Mapping[str, Any], what: str, *ignored: str) -> None:
    """Asserts that both have the same fields and values, except for ignored ones. The message has each difference."""
    names = [name for name in dict.fromkeys((*expected, *actual)) if name not in ignored]
    differences = [f"{name} is {actual.get(name, '(absent)')!r}, not {expected.get(name, '(absent)')!r}"
                   for name in names if actual.get(name, ABSENT) != expected.get(name, ABSENT)]
    assert not differences, f"{what}: {'; '.join(differences)}"


def what_is_created_is_read_listed_and_deleted(world: World) -> None:
    created = world.admin.post(world.path, world.body())
    assert created.status_code == 201, created.text
    row, path = created.get_json(), created.headers["Location"]
    assert path == f"{world.path}/{row['id']}"
    assert created.headers["ETag"] == '"1"'
    read = world.admin.get(path)
    assert (read.status_code, read.headers["ETag"]) == (200, '"1"'), read.text
    alike(read.get_json(), row, "what is read after it was created")
    assert world.admin.call("HEAD", path).headers["ETag"] == '"1"'
    assert row["id"] in [item["id"] for item in world.admin.get(f"{world.path}?sort=-created_at").get_json()["items"]]
    assert world.admin.delete(path).status_code == 204
    refused(world.admin.get(path), 404, "not_found")
    refused(world.admin.delete(path), 404, "not_found")


def what_is_read_can_be_put_back(world: World) -> None:
    row = world.made()
    answer = world.admin.put(f"{world.path}/{row['id']}", row)
    assert answer.status_code == 200, answer.text
    alike(answer.get_json(), row, "what was read and put back", "version", "updated_at")


def a_patch_changes_what_it_names(world: World) -> None:
    row, one = (made := world.made()), f"{world.path}/{made['id']}"
    nothing = world.admin.patch(one, {})
    assert nothing.status_code == 200, nothing.text
    alike(nothing.get_json(), row, "a PATCH of nothing")
    changed = world.admin.patch(one, dict(world.example.changes))
    assert changed.status_code == 200, changed.text
    alike(changed.get_json(), row | dict(world.example.changes) | {"version": 2}, "after a PATCH", "updated_at")


def a_stale_version_is_refused(world: World) -> None:
    one = f"{world.path}/{world.made()['id']}"
    stale = {"If-Match": '"7"'}
    for method, body in (("PATCH", dict(world.example.changes)), ("PUT", world.body()), ("DELETE", {})):
        refused(world.admin.call(method, one, body, stale), 412, "version_conflict")
    assert world.admin.patch(one, {}, headers={"If-Match": '"1"'}).status_code == 200


def a_body_that_is_wrong_is_refused(world: World) -> None:
    row = world.made()
    refused(world.admin.post(world.path, world.body() | {"surprise": 1}), 400, "unknown_field")
    refused(world.admin.post(world.path, world.body() | {"version": 7}), 400, "read_only_field")
    refused(world.admin.patch(f"{world.path}/{row['id']}", {"id": NOBODY}), 400, "read_only_field")
    refused(world.admin.post(world.path, data=b"{", content_type="application/json"), 400, "malformed_json")
    refused(world.admin.post(world.path, data=b"x=1"), 415, "unsupported_media_type")
    for name, declared in world.collection.body_schema.load_fields.items():
        if declared.required:
            body = {key: value for key, value in world.body().items() if key != name}
            refused(world.admin.post(world.path, body), 400, "missing_field")


def a_path_or_query_that_is_wrong_is_refused(world: World) -> None:
    refused(world.admin.get(f"{world.path}/{NOBODY}"), 404, "not_found")
    refused(world.admin.patch(f"{world.path}/1", {}), 400, "invalid_parameter")
    refused(world.admin.get(f"{world.path}?surprise=1"), 400, "unknown_parameter")
    refused(world.admin.get(f"{world.path}?limit=0"), 400, "invalid_parameter")
    refused(world.admin.call("BREW", world.path), 405, "method_not_allowed")


def another_tenant_sees_and_reaches_nothing(world: World) -> None:
    one = f"{world.path}/{world.made()['id']}"
    for method, body in (("GET", None), ("PATCH", dict(world.example.changes)), ("DELETE", None)):
        answer = world.stranger.call(method, one, *([body] if body else []))
        refused(answer, 404, "not_found")
    listed = world.stranger.get(f"{world.path}?page=1").get_json()
    tenants = {row["tenant_id"] for row in listed["items"]}
    assert tenants <= {world.stranger.user.tenant_id if world.stranger.user else None}
    assert listed["total"] == len(listed["items"])


def a_guest_may_only_what_the_policy_says(world: World) -> None:
    with world.app.test_request_context():
        environment = RequestEnvironment(request, world.services.settings.zone)
        access = Access(world.services.policy.current, guest(world.services.guest_tenant), environment)
        forbidden = [endpoint for endpoint in world.collection.served
                     if endpoint.permission and not access.may_ever(endpoint.permission)]
    visitor = Caller(world.app.test_client())
    for endpoint in forbidden:
        refused(visitor.call(endpoint.method, endpoint.path.replace("<id>", NOBODY)), 401, "unauthenticated")


def every_order_walks_through_all_rows_once(world: World) -> None:
    ids = {world.made()["id"] for _ in range(5)}
    for order in world.collection.listing.query.orders:
        ids_of_pages, path = [], f"{world.path}?sort={order}&limit=2&fields=id"
        following: str | None = path
        while following:
            page = world.admin.get(following).get_json()
            ids_of_pages += [row["id"] for row in page["items"]]
            following = f"{path}&cursor={page['next_cursor']}" if page["has_next"] else None
        assert len(ids_of_pages) == len(set(ids_of_pages)), order
        assert ids <= set(ids_of_pages), order
        assert world.admin.get(f"{world.path}?page=1&page_size=1").get_json()["total"] == len(ids_of_pages)


def every_filter_finds_the_row_that_it_fits(world: World) -> None:
    row = world.made()
    for name, operators in world.collection.filters.items():
        value = row.get(name)
        if "eq" not in operators or value is None:
            continue
        sent = str(value).lower() if isinstance(value, bool) else value
        query = {name: sent, "sort": "-created_at"}
        answer = world.admin.call("GET", world.path, query_string=query).get_json()
        assert row["id"] in [item["id"] for item in answer["items"]], query
        wrong_values = [item[name] for item in answer["items"] if item[name] != value]
        assert not wrong_values, f"the filter {query} finds rows whose {name} is {wrong_values}"


def fields_and_expansions_are_answered_as_asked(world: World) -> None:
    one = f"{world.path}/{world.made()['id']}"
    assert set(world.admin.get(f"{one}?fields=id,version").get_json()) == {"id", "version"}
    assert "allowed_actions" in world.admin.get(f"{one}?fields=allowed_actions").get_json()
    for query in ("fields=surprise", "fields="):
        refused(world.admin.get(f"{one}?{query}"), 400, "invalid_parameter")
        refused(world.admin.get(f"{world.path}?{query}"), 400, "invalid_parameter")


def every_action_does_its_work_or_says_why_not(world: World) -> None:
    for action in world.collection.actions:
        row = world.made()
        one, sent = f"{world.path}/{row['id']}", world.example.actions.get(action.name)
        if action.body_required:
            refused(world.admin.post(f"{one}/{action.name}", {}), 400, "missing_field")
            assert sent is not None, f"the Example lacks what is sent with the action: actions={{{action.name!r}: …}}"
        answer = world.admin.post(f"{one}/{action.name}", *([] if sent is None else [dict(sent)]))
        if not action.starts_from(row):
            refused(answer, 409, "invalid_transition")
        elif answer.status_code != 409:
            assert answer.status_code == 200, answer.text
            if action.transitions:
                moved, to = answer.get_json()[action.state], action.transitions[row[action.state]]
                assert moved == to, f"after {action.name} {action.state} is {moved!r}, not {to!r}"
        else:  # a Conflict that the action's method raises
            assert answer.mimetype == PROBLEM, answer.text
        if answer.status_code == 409:
            alike(world.admin.get(one).get_json(), row, f"after the refused action {action.name}")


def what_a_body_may_leave_out_can_be_left_out(world: World) -> None:
    collection = world.collection
    for name, declared in collection.body_schema.load_fields.items():
        body = {key: value for key, value in world.body().items() if key != name}
        if not declared.required:
            answer = world.admin.post(world.path, body)
            assert answer.status_code < 500, f"without {name}: {answer.text}"


def a_new_row_is_judged_with_the_columns_that_rules_may_read(world: World) -> None:
    resource, rows = world.collection.resource, list[Mapping[str, Any]]()
    columns = world.services.policy.current.vocabulary.resources[resource].columns
    require, looks_at = Access.require, Policy.looks_at

    def noted(access: Access, permission: str, row: Mapping[str, Any] | None = None,
              unknown: Set[str] = frozenset()) -> None:
        if permission == f"{resource}.create" and row is not None:
            rows.append(dict(row))
        require(access, permission, row, unknown)

    def whole(policy: Policy, permissions: tuple[str, ...]) -> Reads:
        reads = looks_at(policy, permissions)
        return replace(reads, obj=tuple(columns)) if permissions[0].startswith(f"{resource}.") else reads

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Access, "require", noted)
        patch.setattr(Policy, "looks_at", whole)  # a collection may leave out what no rule reads
        world.made()
    row, = rows
    lacking = [name for name, column in columns.items()
               if row[name] is None and not column.nullable and not column.null_at_create]
    assert not lacking, (f"a new row has no {', '.join(lacking)} when {resource}.create is judged: set it in `derive`, "
                         "or name it in null_at_create")
    filled = [name for name, column in columns.items() if column.null_at_create and row[name] is not None]
    assert not filled, f"null_at_create names {', '.join(filled)}, which a new row has when {resource}.create is judged"


def its_table_serves_what_it_declares(world: World) -> None:
    with world.services.database.connected():
        tables.check(world.services.database, [world.collection])


def its_declarations_are_used(world: World) -> None:
    collection = type(world.collection)
    shipped = collection.__module__.startswith("blueprints.")  # their translations are in the framework's files
    doubts = unreachable(world.collection) if shipped else findings(collection, [world.collection])
    assert not (text := "\n".join(doubts)), text


def answers_equal_what_the_schema_dumps(world: World) -> None:
    world.made()
    collection, tenant_id = world.collection, world.services.guest_tenant
    with world.services.database.connected():
        rows = [dict(row.__data__) for row in Rows(collection.model, tenant_id).select().limit(50)]
        collection.attach(tenant_id, rows)
    assert rows
    for row in rows:
        encoded = collection.representation.encode(row, collection.representation.names)
        dumped = collection.schema().dump(row)
        alike(encoded, dumped, "an answer beside what the schema dumps")
        assert orjson.dumps(encoded) == orjson.dumps(dumped)


CHECKS: tuple[Callable[[World], None], ...] = (
    what_is_created_is_read_listed_and_deleted, what_is_read_can_be_put_back, a_patch_changes_what_it_names,
    a_stale_version_is_refused, a_body_that_is_wrong_is_refused, a_path_or_query_that_is_wrong_is_refused,
    another_tenant_sees_and_reaches_nothing, a_guest_may_only_what_the_policy_says,
    every_order_walks_through_all_rows_once, every_filter_finds_the_row_that_it_fits,
    fields_and_expansions_are_answered_as_asked, every_action_does_its_work_or_says_why_not,
    answers_equal_what_the_schema_dumps, what_a_body_may_leave_out_can_be_left_out,
    a_new_row_is_judged_with_the_columns_that_rules_may_read, its_table_serves_what_it_declares,
    its_declarations_are_used)


def contract(*examples: Example) -> Callable[..., None]:
    """Returns a test, parametrised by example and check. It uses the fixture `app`, for example from `served`."""

    def pairs() -> Iterator[Any]:
        for example in examples:
            for check in CHECKS:
                yield pytest.param(example, check, id=f"{example.collection.name}-{check.__name__}")

    @pytest.mark.parametrize(("example", "check"), list(pairs()))
    def test_contract(app: Flask, example: Example, check: Callable[[World], None]) -> None:
        check(World(app, example))

    return test_contract
