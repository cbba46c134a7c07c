"""`inGroup` with a group named by the caller or the request: it is looked up in the caller's own groups."""

from __future__ import annotations

import pytest

from policies.comparison.substitution import put
from policies.questions.holders import of_guest, of_user
from policies.syntax.expression import Attribute, InGroup, negation

ANN = "00000000-0000-7000-8000-000000000001"


@pytest.mark.parametrize(("department", "groups", "member"), [
    ("press", ("press", "sales"), True), ("press", ("sales",), False), ("press", (), False), (None, ("press",), False)])
def test_the_group_is_that_of_the_name(department, groups, member):
    for root, name in (("sub", "department"), ("env", "device")):
        asked = put(InGroup(Attribute(root, name)), {Attribute("env", "device"): department})
        assert of_user(asked, ANN, department, groups) is member
        assert of_user(negation(asked), ANN, department, groups) is not member
        assert of_guest(asked) is False
