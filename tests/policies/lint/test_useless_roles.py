"""Roles that change nothing for any user, and roles that only administrators can give."""

from __future__ import annotations

import pytest

from policies.lint.warnings import warnings
from policies.loading.loader import from_files
from tests.policies.generated import FILES
from tests.policies.shipped_vocabulary import VOCABULARY

ANN = "user:0199f3a0-0000-7000-8000-000000000001"
DECLARED = "g, auditor, guest"
LINE = "p, auditor, audit.view, always, allow"
USER = "; if auditor is a user, write user:<id> (`gatepost user list` shows the id)"
IDLE = f"no rule names the role auditor, and no role inherits it; take it out, unless users have it{USER}"
IDLE_INDEED = f"no rule names the role auditor, no role inherits it, and nobody has it; take it out{USER}"
ONLY_ADMIN = ("only admin can give the role auditor, because no other role inherits it; write `g, owner, auditor` if "
              "owners shall, or `g, admin, auditor` if nobody else shall")


def said(*lines: str, held: frozenset[str] | None = None) -> list[str]:
    """Returns the warnings about the shipped rules, without invariants, with these lines of roles.csv."""
    content = FILES["roles.csv"].decode().replace("# end", "\n".join([*lines, "# end"]))
    policy = from_files({**FILES, "roles.csv": content.encode()}, VOCABULARY)
    return [one.message for one in warnings(policy, held) if " the role " in one.message]


@pytest.mark.parametrize(
    ("lines", "held", "message"),
    [
        ((DECLARED,), None, IDLE),
        ((DECLARED,), frozenset(("user",)), IDLE_INDEED),
        ((DECLARED,), frozenset(("auditor",)), ONLY_ADMIN),
        ((DECLARED, f"g, {ANN}, auditor"), None, ONLY_ADMIN),
        ((DECLARED, LINE), None, ONLY_ADMIN),
        ((DECLARED, LINE), frozenset(("auditor",)), ONLY_ADMIN),
        ((DECLARED, LINE, "g, owner, auditor"), None, None),
        ((DECLARED, LINE, "g, admin, auditor"), None, None),
        ((DECLARED, "g, owner, auditor"), frozenset(), None),
    ],
    ids=["offline", "nobody has it", "somebody has it", "a person is lent it", "a line names it", "it is in use",
         "owners inherit it", "administrators inherit it", "inherited, though no line names it"],
)
def test_a_role_without_a_use_is_a_warning_and_so_is_one_that_only_administrators_can_give(
    lines: tuple[str, ...], held: frozenset[str] | None, message: str | None
) -> None:
    found = said(*lines, held=held)
    assert found == ([] if message is None else [message])


def test_a_policy_without_owners_is_not_told_to_name_them() -> None:
    files = {
        "model.conf": FILES["model.conf"],
        "roles.csv": b"g, user, guest\ng, admin, user\ng, boss, user\n# end\n",
        "rules.csv": b"p, boss, audit.view, always, allow\n# end\n",
    }
    [found] = [one for one in warnings(from_files(files, VOCABULARY)) if "only admin" in one.message]
    assert found.message.endswith("no other role inherits it; write `g, admin, boss` if nobody else shall")
    assert (found.file, found.line, found.severity) == ("roles.csv", 3, "warning")
