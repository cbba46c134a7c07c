"""The attributes of `r.sub` and `r.env` for conditions are listed in several places. The lists must be equal."""

from __future__ import annotations

from dataclasses import fields

import pytest

from gatepost.http.request import environment
from policies import Principal
from policies.evaluation.principal import FixedEnvironment
from policies.syntax import attributes
from policies.syntax.attributes import ENVIRONMENT, SUBJECT


def test_a_caller_has_every_attribute_of_r_sub():
    assert set(SUBJECT) <= {field.name for field in fields(Principal)}


def test_cases_pin_every_attribute_of_r_env_and_no_other():
    assert {field.name for field in fields(FixedEnvironment)} == set(ENVIRONMENT)


@pytest.mark.parametrize("attribute", ENVIRONMENT)
def test_a_request_has_every_attribute_of_r_env(attribute):
    [found] = [each for each in vars(environment).values() if getattr(each, "__module__", "") == environment.__name__]
    assert attribute in vars(found)


def test_explanations_have_words_for_every_attribute():
    callers = {("sub", name) for name in (*SUBJECT, "groups")}
    assert set(attributes.WORDS) == callers | {("env", name) for name in ENVIRONMENT}
