"""AuthZEN's searches find exactly what its evaluations permit, under random policies."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from policies import Policy
from policies.loading.loader import from_files
from tests.apps import AsRole, Caller
from tests.http.worlds import World

pytestmark = pytest.mark.both_databases

POLICIES, SEED = int(os.environ.get("POLICIES", "2")), int(os.environ.get("SEED", "1"))
# The caller needs the permission, and to view the object. A random deny rule may take these away.
CALLER = "\n".join(f"p, admin, {one}, always, allow" for one in (
    "policy.evaluate", "user.view", "user.view_private", "article.view", "article.view_private"))


@pytest.fixture(scope="module")
def world(app, given, elsewhere) -> World:
    return World(app, given, elsewhere)


def with_caller(policy: Policy) -> Policy:
    rules = policy.files["rules.csv"].decode().replace("# end", f"{CALLER}\n# end")
    return from_files({**policy.files, "rules.csv": rules.encode()}, policy.vocabulary)


def asked(caller: Caller, path: str, **body: Any) -> Any:
    answer = caller.post(f"/access/v1/{path}", json=body)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.get_json()


def searched(caller: Caller, what: str, **body: Any) -> set[str]:
    found, page = list[str](), {"limit": 7}
    while True:
        told = asked(caller, f"search/{what}", page=page, **body)
        found += [one.get("id", one.get("name")) for one in told["results"]]
        if not told["page"]["next_token"]:
            assert len(found) == len(set(found)), "each once"
            return {*found}
        page = {"limit": 7, "token": told["page"]["next_token"]}


def decided(caller: Caller, questions: list[dict[str, Any]]) -> list[bool]:
    answers = [asked(caller, "evaluations", evaluations=questions[start:start + 100])["evaluations"]
               for start in range(0, len(questions), 100)]
    return [one["decision"] for some in answers for one in some]


@pytest.mark.parametrize("seed", range(SEED, SEED + POLICIES))
def test_searches_equal_evaluations(world: World, as_role: AsRole, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    caller, chance = as_role("admin"), random.Random(seed)
    mine = [row for row in world.rows["article"] if row.tenant_id == world.given.tenant_id]
    users = [user.id for user in world.users if user.tenant_id == world.given.tenant_id]
    monkeypatch.setattr(world.services.policy, "current", with_caller(world.edited(seed)[1]))
    for verb in ("view", "update"):
        action = {"name": verb}
        for row in chance.sample(mine, 3):
            resource = {"type": "article", "id": row.id}
            found = searched(caller, "subject", subject={"type": "user"}, action=action, resource=resource)
            permitted = decided(caller, [{"subject": {"type": "user", "id": id}, "action": action, "resource": resource}
                                         for id in (*users, "guest")])
            assert found & {*users, "guest"} == {
                id for id, yes in zip((*users, "guest"), permitted, strict=True) if yes}
        for id in chance.sample(users, 3):
            subject = {"type": "user", "id": id}
            found = searched(caller, "resource", subject=subject, action=action, resource={"type": "article"})
            permitted = decided(caller, [{"subject": subject, "action": action, "resource": {
                "type": "article", "id": row.id}} for row in mine])
            assert found & {row.id for row in mine} == {
                row.id for row, yes in zip(mine, permitted, strict=True) if yes}
