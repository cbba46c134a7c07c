"""Each example of the OpenAPI document is sent unchanged to a demo instance, and succeeds."""

from __future__ import annotations

import json

import pytest

from app import create_app
from gatepost.collections.plugins.discovery import discover
from gatepost.http.openapi.document import document
from gatepost.http.schemas.documented import IN_THE_DEMO, example_id
from gatepost.testing.serving import log_in
from models.tables.user import User
from tests.apps import close
from tests.http.held import HeldClient
from tests.running import PASSWORD, Instance

REGISTRY = discover()
DOCUMENT = json.loads(document(REGISTRY, "3.1.0"))
# Other rows of the demo refer to these, and must be deleted first.
NEEDED = ("articles_delete", "categories_delete", "products_delete", "users_delete")
# An example may need the result of an earlier one.
BEFORE = {"session_log_in": "session_register", "profile_update": "session_register",
          "profile_change_password": "session_register",
          **{f"{group}_unshare": f"{group}_share" for group in IN_THE_DEMO}}
AS_THEMSELVES = ("profile_update", "profile_change_password")


def followed(one):
    return DOCUMENT["components"]["parameters"][one["$ref"].rpartition("/")[2]] if "$ref" in one else one


def example(parameter):
    """Returns the example of the parameter or of its schema."""
    return parameter.get("example", parameter["schema"].get("example"))


def requests():
    """Yields (operation, method, path, query, media type, body) of every operation with an example."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            held = {(one["in"], one["name"]): one for one in map(
                followed, (*item.get("parameters", ()), *operation.get("parameters", ())))}
            values = {name: example(one) for (place, name), one in held.items() if place == "path"}
            query = {name: example(one) for (place, name), one in held.items()
                     if place == "query" and one.get("required")}
            bodies = {kind: content["examples"]["example"]["value"] for kind, content in
                      operation.get("requestBody", {"content": {}})["content"].items() if "examples" in content}
            if None in (*values.values(), *query.values()) or not (values or query or bodies):
                continue
            for kind, body in (bodies or {None: None}).items():
                yield pytest.param(operation["operationId"], method.upper(), path.format(**values), query, kind, body,
                                   id=f"{operation['operationId']}{'' if len(bodies) < 2 else ' ' + kind}")


REQUESTS = list(requests())


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A new instance with the demo, as an app."""
    instance = Instance(tmp_path_factory.mktemp("demo") / "instance")
    done = instance.run("init", "--admin-email", "admin@example.org", "--admin-password-file", "-", input=PASSWORD)
    assert done.returncode == 0, done.stderr
    app = create_app({"instance": instance.folder, "rate_limits": "off", "policy_edit": "on", "run_jobs": "off",
                      "smtp_url": "smtp+plain://127.0.0.1:1", "mail_from": "gate@example.org",
                      "public_url": "http://localhost"})
    app.test_client_class = HeldClient
    yield app
    close(app)


class Undone(Exception):
    """Raised to roll back the effects of an example."""


def prepare(app, operation):
    """Puts the operation's row into a state that allows the operation."""
    group, _, name = operation.partition("_")
    collection = REGISTRY.collections.get(group)
    for action in () if collection is None else collection.actions:
        if action.name == name:
            values = {action.state: next(iter(action.transitions))}
            collection.model.update(**values).where(collection.model.id == example_id(group)).execute()


def test_every_collection_of_the_demo_and_every_body_has_an_example():
    tried = {one.values[0] for one in REQUESTS}
    assert {f"{group}_get" for group in IN_THE_DEMO} <= tried
    bodies = {operation["operationId"] for item in DOCUMENT["paths"].values() for method, operation in item.items()
              if method != "parameters" and "requestBody" in operation}
    # Values that only the service can create: a refresh token, the version in force, a link, a challenge; and codes of
    # an app. A logout needs no body.
    assert bodies - tried == {"policy_apply", "session_refresh", "session_log_out", "password_link_use",
                              "session_verify", "profile_set_up_second_factor", "profile_confirm_second_factor",
                              "profile_renew_recovery_codes", "profile_remove_second_factor",
                              "email_verification_use"}


def send(app, operation, method, path, query, kind, body):
    """Sends the example of an operation, and returns the answer."""
    user = User.by_email("noor@example.org" if operation in AS_THEMSELVES else "admin@example.org")
    sent = {} if body is None else {"data": body if isinstance(body, str) else json.dumps(body), "content_type": kind}
    return log_in(app, user).call(method, path, query_string=query, **sent)


@pytest.mark.parametrize(("operation", "method", "path", "query", "kind", "body"), REQUESTS)
def test_an_example_succeeds_as_it_stands(demo, here, operation, method, path, query, kind, body):
    def work():
        if operation in BEFORE:
            first = next(one.values for one in REQUESTS if one.values[0] == BEFORE[operation])
            assert send(demo, *first).status_code < 300
        prepare(demo, operation)
        answer = send(demo, operation, method, path, query, kind, body)
        if answer.status_code != 409 or operation not in NEEDED:
            assert answer.status_code < 300, f"{answer.status} {answer.text}"
        raise Undone

    with pytest.raises(Undone):
        demo.extensions["gatepost"].database.transact(work)
