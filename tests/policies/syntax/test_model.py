"""model.conf: its frame is fixed, and a condition may say only what Casbin and SQL read alike.

What the language has spellings for is in language.py.
"""

from __future__ import annotations

import pytest

from tests.policies.generated import BRANCHES, MODEL, RULE, WHO_AND_WHAT, findings_of, model
from tests.samples import sampled_rows


def branch(condition: str) -> str:
    return model(f"{WHO_AND_WHAT} && ({BRANCHES} || \\\n    p.when == 'new' && {condition})")


@pytest.mark.parametrize(
    ("condition", "message"),
    sampled_rows([
        ("r.obj.colour == 'red'", "no collection has a column colour"),
        ("r.obj.status == 1", "r.obj.status is a text; 1 is not"),
        ("r.obj.version == '1'", "r.obj.version is a number; '1' is not"),
        ("r.obj.status > 'draft'", "has no order"),
        ("r.obj.version == r.sub.id", "are of different types"),
        ("r.env.hour >= '8'", "r.env.hour is a number"),
        ("r.env.date > '1 May'", "r.env.date is a date"),
        ("r.sub.name == 'x'", "r.sub.name is unknown; known are auth_age, department, id, key"),
        ("r.env.minute == 3", "r.env.minute is unknown"),
        ("true", "write == 1"),
        ("r.obj.status", "alone is no condition"),
        ("!(r.obj.status == 'draft')", "write !="),
        ("!shared(r.sub, r.obj, r.act)", "write !="),
        ("!r.env.hour == 3", "put brackets around what `!` negates"),
        ("8 <= r.env.hour < 18", "one comparison at a time"),
        ("not (r.env.hour == 3)", "`not` is no word of a matcher"),
        ("r.obj.status == 'a' or r.env.hour == 3", "`or` is no word of a matcher"),
        ("r.obj.version + 1 == 3", "cannot be used"),
        ("r.obj.owner.name == 'x'", "cannot be used here"),
        ("r.obj.__class__ == 'x'", "cannot be used here"),
        ("__import__('os').system('true') == 0", "cannot be used"),
        ("open('/etc/passwd')", "`open` is no function of a matcher"),
        ("regexMatch(r.obj.status, '.*')", "`regexMatch` is no function"),
        ("globMatch(r.obj.status, 'd*')", "write globMatch(r.act, p.act)"),
        ("ipMatch(r.obj.status, '10.0.0.0/8')", "write ipMatch(r.env.ip"),
        ("ipMatch(r.env.ip, '10.0.0.0/99')", "is no network address"),
        ("ipMatch(r.env.ip)", "takes 2 arguments"),
        ("g(r.obj.owner_id, p.sub)", "g asks about r.sub.role or r.sub.key"),
        ("shared(r.obj, r.sub, r.act)", "write shared(r.sub, r.obj, r.act)"),
        ("r.obj.status == 'a!'", "Casbin would read these characters"),
        ("r.obj.status == 'r.x'", "Casbin would read these characters"),
        (r"r.obj.status == 'a\x62'", "write it without backslashes"),
        ("r.obj.status == 'a' 'b'", "is missing between two texts"),
        ("r.obj.version == 0x10", "cannot be used"),
        ("r.obj.version == 99999999999999999999", "cannot be used"),
        ("r.obj.version == 9007199254740992", "a whole number up to 9007199254740991"),
        ("r.obj.version == 1.5", "cannot be used"),
        ("'a' == 'a'", "are both fixed"),
        ("r.obj.status == 'a", "is not an expression"),
        ("(r.obj.status == 'a'", "is not an expression"),
        ("r.obj.status = 'a'", "write =="),
        ("r.env.hour == 3&& r.obj.status == 'a'", "put blanks around `&&`"),
        ("r.env.hour == 3 &&r.obj.status == 'a'", "put blanks around `&&`"),
        ("(r.env.hour == 3 ||!(r.env.hour == 4))", "put blanks around `||`"),
        ("r.obj.status == 'a' &&", "is not an expression"),
        ("r.obj.stаtus == 'a'", "is not allowed here; type the Latin letter a"),
        ("r.env.hour == 3 || r.obj.status == 'a'", "holds whatever the condition is"),
        ("(" * 300 + "r.env.hour == 3" + ")" * 300, "model.conf"),
    ], 2),
)
def test_a_condition_that_cannot_be_relied_on_is_refused_with_its_place(condition: str, message: str) -> None:
    found = findings_of(["p, user, article.view, new, allow"], None, branch(condition))
    assert any(message in finding for finding in found), found
    assert all(finding.startswith(("model.conf:", "rules.csv:1: ")) for finding in found)


def test_a_finding_in_the_matcher_names_the_line_of_the_branch() -> None:
    wrong = MODEL.replace("r.obj.status == 'active'", "r.obj.status == true")
    number = next(n for n, line in enumerate(wrong.splitlines(), 1) if "true" in line)
    assert any(finding.startswith(f"model.conf:{number}: ") for finding in findings_of([RULE], None, wrong))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("p = sub, act, when, eft", "p = sub, act, when", "`p` must be"),
        ("&& !some(where (p.eft == deny))", "", "`e` must be"),
        ("[policy_effect]", "[policy_efect]", "is no section"),
        ("g = _, _", "g = _, _, _", "`g` must be"),
        ("g = _, _", "g = _, _\ng = _, _", "is already on line"),
        ("g = _, _", "g2 = _, _", "lacks `g`"),
        ("m2 = r2.scope == p2.scope &&", "m2 =", "m2 must compare"),
        ("m2 = r2.scope == p2.scope &&", "m2 = r.sub.id == p2.scope &&", "cannot be used"),
        ("globMatch(r.act, p.act) && ", "", "holds whatever is asked"),
        ("(g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && ", "", "holds for every caller"),
        ("p.when == 'always' || \\", "p.when == 'always' || # ! \\", "comments on lines of their own"),
        ("p.when == 'always' || \\\n", "p.when == 'always' || \\\n\n", "needs another line"),
    ],
)
def test_the_frame_of_the_model_is_fixed(old: str, new: str, message: str) -> None:
    assert old in MODEL
    found = findings_of([RULE], None, MODEL.replace(old, new, 1))
    assert any(message in finding for finding in found), found
