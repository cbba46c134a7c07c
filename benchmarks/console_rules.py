"""The cost of the page of the rules, by the length of the policy: `python -m benchmarks.console_rules`.

The figures are milliseconds of processor time to render the page for an administrator: cookie, policy, users,
endpoints and the template, without the network. *First* is the page right after a change of the policy, before the
background task has looked for warnings. The others are medians of nine.

The three policies are the shipped one; 5 000 rules, which are the shipped ones and ten for each of 500 users; and the
shipped one with the largest number of roles.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from benchmarks.contenders import ADMIN, PASSWORD, gatepost
from benchmarks.long_policy import lengthen
from benchmarks.policy_size import LINES, PERSONS, timed
from models.base import Rows
from models.tables.tenant import Tenant
from models.tables.user import User
from policies.syntax.roles import MOST_ROLES, ROLES_FILE, declared

ROUNDS = 9
PATHS: Mapping[str, str] = {
    "page": "/console/rules",
    "panel": "/console/rules?cell=user%20article.update",
    "one resource": "/console/rules?resource=article",
}


def main() -> None:
    found = {name: measured(change) for name, change in
             {"shipped": lambda policies: None, "persons": _persons, "roles": _roles}.items()}
    print(f"{'':18}" + "".join(f"{name:>10}" for name in found))
    for figure in found["shipped"]:
        print(f"{figure:18}" + "".join(f"{each[figure]:>10.1f}" for each in found.values()))


def measured(change: Callable[[Path], object]) -> dict[str, float]:
    """Returns the figures by name, measured on a new instance with changed policy files."""
    with tempfile.TemporaryDirectory(prefix="gatepost-rules-") as folder:
        instance = Path(folder) / "instance"
        subprocess.run(gatepost("init", "--no-demo", "--admin-email", ADMIN, "--admin-password-file", "-"),
                       env={**os.environ, "GATEPOST_INSTANCE": str(instance)}, input=PASSWORD, text=True, check=True,
                       stdout=subprocess.DEVNULL)
        change(instance / "policies")
        app = create_app({"instance": instance, "rate_limits": "off"})
        try:
            _people(app)
            client = _logged_in(app)
            first = timed(partial(_seen, client, PATHS["page"]))
            medians = {name: statistics.median(timed(partial(_seen, client, path)) for _ in range(ROUNDS))
                       for name, path in PATHS.items()}
            size = len(_seen(client, PATHS["page"])) / 1e3
        finally:
            app.extensions["gatepost"].stop()
    return {"first": first, **medians, "page, kB": size}


def _persons(policies: Path) -> None:
    lengthen(policies, LINES, PERSONS)


def _roles(policies: Path) -> None:
    file = policies / ROLES_FILE
    content = file.read_text("utf-8")
    have = len(declared({ROLES_FILE: content.encode()}))
    more = "".join(f"g, role-{number}, user\n" for number in range(MOST_ROLES - have))
    file.write_text(content.replace("# end\n", f"{more}# end\n"), "utf-8")


def _people(app: Flask) -> None:
    """Adds the users that rules name."""
    services = app.extensions["gatepost"]
    named = {rule.sub for rule in services.policy.current.rules if rule.sub.startswith("user:")}

    def add() -> None:
        tenant = Tenant.by_name("default")
        assert tenant is not None
        for number, key in enumerate(sorted(named)):
            Rows(User, tenant.id).insert(User(id=key.partition(":")[2], name=f"Person {number}", role="user",
                                              email=f"person{number}@example.org", password_hash="-"))

    services.database.transact(add)


def _logged_in(app: Flask) -> FlaskClient:
    client = app.test_client()
    answer = client.post("/console/login", data={"email": ADMIN, "password": PASSWORD},
                         headers={"Origin": "http://localhost"})
    assert answer.status_code == 303, answer.text
    return client


def _seen(client: FlaskClient, path: str) -> bytes:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.data


if __name__ == "__main__":
    main()
