"""New rows in proofs: fields that the service fills after the decision are missing; unknown values decide nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from policies import SHIPPED, Column, Policy, Principal, Resource, Vocabulary
from policies.comparison.prover import Prover
from policies.comparison.subjects import Subject
from policies.evaluation.compiled import compiled, no_shares
from policies.evaluation.principal import FixedEnvironment
from policies.loading.loader import from_files

ME, OTHER, TENANT = (f"01920000-0000-7000-8000-00000000000{number}" for number in range(1, 4))
CALLER, ENVIRONMENT = Principal(ME, f"user:{ME}", "user", TENANT), FixedEnvironment()
COLUMNS = {
    "id": Column(str, False, "uuid"), "tenant_id": Column(str, False, "uuid"), "owner_id": Column(str, True, "uuid"),
    "weight": Column(int, False, null_at_create=True), "limit": Column(int, True), "status": Column(str, False),
}
VOCABULARY = Vocabulary({"parcel": Resource(
    "parcel", frozenset(("parcel.create", "parcel.manage", "parcel.view")), COLUMNS)})
# The weight of a parcel is still missing when the policy decides about its creation.
WEIGHTS = {"parcel.create": (None,), "parcel.manage": (None, 4, 5, 6), "parcel.view": (4, 5, 6)}
CONDITIONS = {
    "any_weight": "r.obj.weight > -1 || r.obj.weight < 9", "heavy": "r.obj.weight > 5", "not_five": "r.obj.weight != 5",
    "under": "r.obj.weight < r.obj.limit", "own_heavy": "r.obj.owner_id == r.sub.id && r.obj.weight >= 5",
    "own": "r.obj.owner_id == r.sub.id", "either": "r.obj.weight == 5 || r.obj.status == 'open'",
    "limited": "r.obj.limit <= 5", "at_work": "r.env.hour < 18 && r.obj.weight < 6",
}
HEAD = (SHIPPED / "model.conf").read_text().partition("[matchers]")[0]


def policy(*lines: str) -> Policy:
    branches = " || ".join(f"p.when == '{word}' && ({said})" for word, said in CONDITIONS.items())
    matchers = (f"m = (g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && globMatch(r.act, p.act) && ({branches})\n"
                "m2 = r2.scope == p2.scope && globMatch(r2.act, p2.act)\n# end\n")
    files = {"model.conf": f"{HEAD}[matchers]\n{matchers}",
             "roles.csv": "g, user, guest\ng, admin, user\n# end\n", "parcels.csv": "\n".join((*lines, "# end", ""))}
    return from_files({name: text.encode() for name, text in files.items()}, VOCABULARY)


def rows(weights: tuple[int | None, ...]) -> Iterator[dict[str, Any]]:
    for weight, limit, owner, status in itertools.product(weights, (None, 4, 5, 7), (None, ME, OTHER),
                                                          ("open", "closed")):
        yield {"id": OTHER, "tenant_id": TENANT, "owner_id": owner, "weight": weight, "limit": limit, "status": status}


@pytest.mark.parametrize("permission", WEIGHTS)
def test_a_proof_knows_what_a_new_row_lacks(permission):
    known = policy(*(f"p, user, parcel.view, {word}, allow" for word in CONDITIONS))
    meanings = {rule.when: left for rule, left in known.matching_rules("user", None, "parcel.view")}
    tests = {word: compiled(left, permission) for word, left in meanings.items()}
    prover, wrong = Prover(known), []
    for narrow, wide in itertools.permutations(meanings, 2):
        exists = any(tests[narrow](CALLER, row, ENVIRONMENT, no_shares)
                     and not tests[wide](CALLER, row, ENVIRONMENT, no_shares) for row in rows(WEIGHTS[permission]))
        found = prover.exception(meanings[narrow], meanings[wide], Subject("user"), permission)
        if (found is not None) is not exists:
            wrong.append(f"{narrow} without {wide}: {found}")
        if found is not None and found.row is not None and permission == "parcel.create":
            assert found.row["weight"] is None
    assert not wrong, "\n".join(wrong)


def test_permissions_are_proved_apart_where_a_new_row_lacks_something():
    prover = Prover(policy("p, user, parcel.view, own, allow"))
    assert len({prover.kind(permission) for permission in WEIGHTS}) == 3


def test_what_is_certain_is_allowed_whatever_is_unknown():
    values = {"weight": (4, 5, 6), "limit": (None, 4, 5, 7), "status": ("open", "closed")}
    asked = itertools.product(CONDITIONS, CONDITIONS, ({"weight"}, {"limit"}, {"weight", "status"}))
    for allow, deny, unknown in asked:
        known = policy(f"p, user, parcel.view, {allow}, allow", f"p, user, parcel.view, {deny}, deny")
        reads = {name for root, name in known.reads(CALLER, "parcel.view") if root == "obj"}
        for row in rows((None,)):
            possible = [{**row, **dict(zip(unknown, one, strict=True))}
                        for one in itertools.product(*(values[name] for name in unknown))]
            certain = known.is_certain(CALLER, "parcel.view", row, unknown, ENVIRONMENT)
            always = all(known.decide(CALLER, "parcel.view", one, ENVIRONMENT) for one in possible)
            assert always or not certain, (allow, deny, unknown, row)
            # If no rule reads an unknown value, this is the decision.
            assert certain is always or reads & unknown, (allow, deny, unknown, row)
