"""A condition with more alternatives than a list has branches still lists what is allowed, on both databases."""

from __future__ import annotations

import pytest

from policies import SHIPPED
from policies.evaluation.plan import MOST_BRANCHES
from policies.loading.loader import from_files
from tests.rule_files import edit
from tests.samples import sampled

MANY = 600  # SQLite joins at most 500 selects, and neither SQLite nor peewee can nest 600 brackets
NAMES = [f"'other{number}'" for number in range(MANY)]
GROUPS = [f"group{number}" for number in range(50)]
OTHERS = " || ".join(f"r.obj.language == {name}" for name in NAMES)
CONDITIONS = {
    "a long list": f"(r.obj.language in['fr', {', '.join(NAMES)}])",
    "a long list beside a short one": f"(r.obj.language in['fr', {', '.join(NAMES)}]) && "
                                      "(r.obj.status in['draft', 'published'])",
    "many comparisons": f"(r.obj.language == 'fr' || r.obj.language == 'fr' && ({OTHERS}))",
    "many groups and a list": "inGroup(r.sub, r.obj.status) && (r.obj.language in['fr', 'nl', 'da', 'sv'])",
}
ASKED = ("", "?page=1", "?sort=title", "?q=words", "?page=2&limit=1", "/export")


@pytest.fixture
def under(app, tmp_path):
    """The app under rules for articles that say `odd` and `language:` beside the shipped words."""
    watcher = app.extensions["gatepost"].policy
    kept = watcher.current

    def put(condition, *lines):
        for place in SHIPPED.glob("*.c*"):
            (tmp_path / place.name).write_bytes(place.read_bytes())
        branches = "".join(f"    {branch} || \\\n" for branch in (
            f"p.when == 'odd' && {condition}", "p.when == 'language:' + r.obj.language"))
        edit(tmp_path, branches, {"articles.csv": "\n".join(lines)})
        (tmp_path / "articles.csv").write_text("\n".join((*lines, "# end\n")))
        files = {place.name: place.read_bytes() for place in tmp_path.iterdir()}
        watcher.current = from_files(files, kept.vocabulary)

    yield put
    watcher.current = kept


def listed(caller, path):
    answer = caller.get(f"/api/articles{path}")
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return {line["id"] for line in answer.json["items"]} if answer.json else answer.get_data(as_text=True)


@pytest.mark.parametrize("condition", sampled(CONDITIONS.values(), 2), ids=CONDITIONS)
@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_what_has_many_alternatives_is_listed_as_it_is_shown(condition, effect, under, given, as_user):
    caller = as_user(groups=["draft", "published", *GROUPS[2:]])
    rows = [given.article(language=language).id for language in ("fr", "fr", "de")]
    always = ["p, user, article.*, always, allow"] if effect == "deny" else []
    under(condition, f"p, user, article.*, odd, {effect}", *always)
    shown = {row for row in rows if caller.get(f"/api/articles/{row}").status_code == 200}
    assert shown == set(rows[:2] if effect == "allow" else rows[2:])
    for path in ASKED:
        assert listed(caller, path) or path == "?page=2&limit=1", path
    assert shown == listed(caller, "?limit=100") & set(rows)


def test_many_lines_with_a_parameter_are_branches_or_one_condition(under, given, as_user):
    caller, rows = as_user(), [given.article(language=language).id for language in ("xx1", "xx599", "xy")]
    for number in (MOST_BRANCHES, MOST_BRANCHES + 1, MANY):
        under("r.obj.version == 0", *(f"p, user, article.*, language:xx{turn}, allow" for turn in range(number)))
        for path in ASKED:
            listed(caller, path)
        assert listed(caller, "?limit=100") & set(rows) == set(rows[:1 if number < MANY else 2])
