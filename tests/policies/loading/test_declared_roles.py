"""Roles are declared in roles.csv. A used but undeclared name is an error that says what to write."""

from __future__ import annotations

import pytest

from policies import PolicyError
from policies.evaluation.principal import FixedEnvironment, Principal
from policies.loading.loader import from_files
from policies.questions.diff import diff
from policies.syntax.roles import MOST_ROLES
from policies.tools.matrix import matrix
from tests.policies.generated import FILES, MODEL
from tests.policies.shipped_vocabulary import ROLES, VOCABULARY

ANN = "user:0199f3a0-0000-7000-8000-000000000001"
DECLARED = "g, auditor, guest"


def files(roles=(), orders=(), model=MODEL, **others):
    """Returns the shipped files with more lines."""
    def more(name, lines):
        return FILES[name].decode().replace("\n# end", "\n".join(["", *lines, "# end"])).encode()

    return {**FILES, "roles.csv": more("roles.csv", roles), "orders.csv": more("orders.csv", orders),
            "model.conf": model.encode(), **others}


def findings(**changed):
    with pytest.raises(PolicyError) as refused:
        from_files(files(**changed), VOCABULARY)
    return [str(one) for one in refused.value.findings]


def with_condition(said):
    return MODEL.replace("p.when == 'always'", f"p.when == 'odd' && {said} || \\\n    p.when == 'always'")


def test_the_roles_are_guest_and_those_on_the_left_in_the_order_of_the_file() -> None:
    assert from_files(FILES, VOCABULARY).roles.names == ROLES
    policy = from_files(files(roles=["g, zoo-keeper, user", f"g, {ANN}, owner", DECLARED]), VOCABULARY)
    assert policy.roles.names == (*ROLES, "zoo-keeper", "auditor")
    assert matrix(policy).columns == policy.roles.names
    assert all(policy.roles.closure(role) >= {"guest"} for role in policy.roles.names), "every role inherits guest"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"orders": ["p, auditor, order.view, always, allow"]},
         "`auditor` is neither a role nor user:<id>; did you mean editor? Or declare it in roles.csv: g, auditor, "),
        ({"orders": ["p, teller, order.view, always, allow"]},
         "`teller` is neither a role nor user:<id>; declare it in roles.csv: g, teller, guest"),
        ({"orders": ["g, auditor, user"]}, "`auditor` is neither a role nor user:<id>"),
        ({"orders": [f"g, {ANN}, teller"]}, "`teller` is no role; declare it in roles.csv: g, teller, guest"),
        ({"roles": ["g, auditor, teller"]}, "`teller` is no role; declare it in roles.csv: g, teller, guest"),
        ({"roles": ["g, auditor, gest"]}, "`gest` is no role; did you mean guest?"),
        ({"model": with_condition("g(r.sub.role, 'teller')")}, "`teller` is no role; declare it in roles.csv"),
        ({"model": with_condition("r.sub.role == 'manger'")}, "`manger` is no role; did you mean manager?"),
        ({"model": with_condition("r.obj.role != 'manger'"), "orders": ["p, user, user.view, odd, allow"]},
         "`manger` is no role; did you mean manager?"),
        ({"invariants.csv": b"never, teller, order.view\n# end\n"}, "`teller` is neither a role nor user:<id>"),
        ({"roles": ["g, Auditor, guest"]}, "`Auditor` is no name for a role: it has small letters, digits, _ and -"),
        ({"roles": ["g, 9lives, guest"]}, "`9lives` is no name for a role"),
        ({"roles": [f"g, {'a' * 33}, guest"]}, "is no name for a role"),
        ({"roles": ["g, guest, user"]}, "every role inherits guest, which inherits nothing; was g, user, guest meant?"),
        ({"orders": ["g, guest, user"]}, "every role inherits guest, which inherits nothing"),
        ({"roles": [f"g, role{number}, guest" for number in range(MOST_ROLES)]}, "at most 100 can be"),
    ],
)
def test_what_is_not_declared_is_an_error_that_says_what_to_write(changed, message) -> None:
    found = findings(**changed)
    assert any(message in one for one in found), found


@pytest.mark.parametrize("changed", [
    {"roles": [DECLARED], "orders": ["p, auditor, order.view, always, allow", f"g, {ANN}, auditor"]},
    {"roles": [DECLARED], "orders": ["g, auditor, user"]},
    {"roles": [f"g, {'a' * 32}, guest", "g, a-b_9, guest"]},
    {"roles": [DECLARED], "model": with_condition("r.obj.role == 'auditor'"),
     "orders": ["p, user, user.view, odd, allow"]},
    {"roles": [f"g, role{number}, guest" for number in range(MOST_ROLES - len(ROLES))]},
], ids=["other files may name it", "other files may let it inherit", "names", "conditions", "a hundred"])
def test_what_is_declared_may_be_named(changed) -> None:
    assert from_files(files(**changed), VOCABULARY)


@pytest.mark.parametrize(("role", "line"), [("user", "g, user, guest"), ("admin", "g, admin, user")])
def test_the_service_needs_users_and_administrators(role, line) -> None:
    kept = [one for one in FILES["roles.csv"].decode().splitlines() if not one.startswith(f"g, {role},")]
    found = findings(**{"roles.csv": "\n".join([*kept, ""]).encode()})
    assert f"roles.csv: the role {role} is missing; write {line}" in found
    assert all(line in one for one in found if f"`{role}` is n" in one), "no finding says otherwise"


def test_a_missing_role_that_many_lines_name_is_told_at_the_first_of_them() -> None:
    kept = FILES["roles.csv"].decode().replace("g, user,      guest\n", "")
    found = findings(**{"roles.csv": kept.encode()})
    assert sum("`user` is neither" in one for one in found) == 4
    assert any(one.startswith("roles.csv: `user` is neither") and "more rules" in one for one in found)


def test_what_a_line_says_is_never_taken_for_what_a_finding_says() -> None:
    [found] = findings(orders=["p, user, is neither a role nor user:<id>, always, allow"] * 6)
    assert found.startswith("orders.csv:38: ")
    assert "is no permission" in found
    assert found.endswith("(5 more lines)"), "it is about a permission, as are the others of this file"


def test_without_roles_csv_one_finding_is_enough() -> None:
    with pytest.raises(PolicyError) as refused:
        from_files({name: content for name, content in FILES.items() if name != "roles.csv"}, VOCABULARY)
    assert [str(one) for one in refused.value.findings] == ["roles.csv: the file is missing"]


AUDITOR = {"roles": [DECLARED], "orders": ["p, auditor, order.export, always, allow"]}


def test_a_caller_whose_role_the_policy_has_not_may_do_nothing_whatever_lines_name_them() -> None:
    lines = [f"p, {ANN}, order.view, always, allow", f"g, {ANN}, owner"]
    here, lost = (Principal(ANN.removeprefix("user:"), ANN, role, "t") for role in ("user", "auditor"))
    policy = from_files(files(orders=lines), VOCABULARY)
    row = VOCABULARY.resources["order"].row(id="9", status="pending")
    assert policy.decide(here, "order.view", row, FixedEnvironment())
    assert not any(policy.may_ever(lost, permission, FixedEnvironment()) for permission in VOCABULARY.by_permission)
    assert not policy.decide(lost, "order.view", row, FixedEnvironment())


def test_a_role_that_one_policy_has_gains_or_loses_all_that_it_may() -> None:
    old, new = from_files(FILES, VOCABULARY), from_files(files(**AUDITOR), VOCABULARY)
    added, taken = diff(old, new), diff(new, old)
    of_guest = {one for one in VOCABULARY.by_permission if new.may_ever(Principal(None, "guest", "guest", "t"), one,
                                                                      FixedEnvironment())}
    for found, kind in ((added, "more"), (taken, "less")):
        assert {(change.who, change.kind) for change in found} == {(("auditor",), kind)}
        assert {change.permission for change in found} >= {"order.export", "article.view"}
        assert {change.permission for change in found} <= {*of_guest, "order.export"}
    assert added.as_lines()[0].startswith("auditor gains ")
    assert taken.as_lines()[0].startswith("auditor loses ")


def test_the_order_of_roles_csv_is_no_change() -> None:
    lines = FILES["roles.csv"].decode().splitlines()[:-1]
    turned = "\n".join([*lines[::-1], "# end", ""]).encode()
    assert not diff(from_files(FILES, VOCABULARY), from_files({**FILES, "roles.csv": turned}, VOCABULARY))
