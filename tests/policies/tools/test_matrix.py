"""The matrix tells at a glance what the policy decides, as text, as a page and as data."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from policies import SHIPPED, Policy, Principal, load
from policies.evaluation.grants import Grants
from policies.evaluation.principal import FixedEnvironment
from policies.tools.matrix import as_text, matrix
from policies.tools.matrix_page import as_html
from tests.policies.editing import add_line, replace, shipped_copy
from tests.policies.shipped_vocabulary import PERMISSIONS, ROLES, VOCABULARY

ZOE = "user:0199f3a0-0000-7000-8000-000000000001"


@pytest.fixture(scope="module")
def shipped() -> Policy:
    return load(SHIPPED, VOCABULARY)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return shipped_copy(tmp_path / "policies")


# What is in a cell


@pytest.mark.parametrize(
    ("role", "permission", "words"),
    [
        ("guest", "article.view", "published"),
        ("guest", "article.update", ""),
        ("user", "article.update", "own_draft, shared_draft"),
        ("editor", "article.update", "always"),
        ("owner", "user.delete", "always"),
        ("manager", "user.delete", ""),
        ("admin", "audit.view", "always"),
    ],
)
def test_a_cell_holds_every_condition_that_reaches_the_role(
    shipped: Policy, role: str, permission: str, words: str
) -> None:
    assert Grants(shipped).of(role, permission).words == words


@pytest.mark.parametrize("role", sorted(ROLES - {"guest"}))
def test_a_cell_says_always_just_where_every_object_is_allowed(shipped: Policy, role: str) -> None:
    who = Principal("0199f3a0-0000-7000-8000-00000000000a", "user:x", role, "t")
    for permission in PERMISSIONS:
        cell = Grants(shipped).of(role, permission)
        plan = shipped.plan(who, permission, FixedEnvironment())
        assert plan.outcome.value == ("always" if cell.always else "if" if cell else "never")


@pytest.mark.parametrize(
    ("line", "role", "words"),
    [
        ("p, user, stats.view, anonymous, allow", "user", ""),
        ("p, guest, stats.view, anonymous, allow", "guest", "always"),
        ("p, guest, stats.view, anonymous, allow", "user", ""),
        ("p, manager, stats.view, office_hours, deny", "manager", "always, but not office_hours"),
        ("p, manager, stats.view, always, deny", "manager", ""),
        ("p, guest, stats.view, anonymous, deny", "manager", "always"),
    ],
)
def test_denials_and_the_kind_of_caller_count(directory: Path, line: str, role: str, words: str) -> None:
    add_line(directory / "admin.csv", line)
    assert Grants(load(directory, VOCABULARY)).of(role, "stats.view").words == words


# The table


def test_every_permission_is_a_row_and_every_role_a_column(shipped: Policy) -> None:
    table = matrix(shipped)
    assert {row.permission for section in table.sections for row in section.rows} == PERMISSIONS
    assert table.columns == (
        "guest", "user", "support", "editor", "moderator", "manager", "developer", "owner", "admin",
    )


def test_a_person_with_lines_of_their_own_is_listed_below(directory: Path) -> None:
    add_line(directory / "articles.csv", f"p, {ZOE}, article.publish, own, allow")
    add_line(directory / "comments.csv", f"p, {ZOE}, comment.create, always, deny")
    table = matrix(load(directory, VOCABULARY))
    assert {permission: found.words for permission, found in table.persons[ZOE].items()} == {
        "article.publish": "own",
        "comment.create": "denied always",
    }
    lines = as_text(table).splitlines()
    assert f"{ZOE}, besides what the role gives" in lines
    assert any(line.split() == ["article.publish", "own"] for line in lines)
    assert table.as_json()["persons"] == {ZOE: {"article.publish": "own", "comment.create": "denied always"}}
    page = as_html(table)
    assert _Page(page).open == []
    assert f"{ZOE}, besides what the role gives" in page


def test_a_role_lent_to_a_person_is_listed_with_all_that_it_gives(directory: Path) -> None:
    add_line(directory / "roles.csv", f"g, {ZOE}, moderator")
    found = matrix(load(directory, VOCABULARY)).persons[ZOE]
    assert found["comment.approve"].words == "always"
    assert "product.create" not in found


def test_chosen_roles_alone_are_shown(shipped: Policy) -> None:
    assert matrix(shipped, ["guest", "user"]).columns == ("guest", "user")


def test_the_text_has_a_line_for_each_permission(shipped: Policy) -> None:
    lines = as_text(matrix(shipped, ["guest", "user", "editor"])).splitlines()
    assert lines[0].split() == ["guest", "user", "editor"]
    [view] = [line for line in lines if line.startswith("article.view ")]
    assert view.split() == ["article.view", "published", "published", "●"]
    [disable] = [line for line in lines if line.startswith("user.disable")]
    assert disable.split() == ["user.disable", "·", "·", "·"]
    assert any(line.split(maxsplit=1) == ["own", "r.obj.owner_id == r.sub.id"] for line in lines)


def test_the_data_names_conditions_and_lines(shipped: Policy) -> None:
    data = matrix(shipped).as_json()
    assert data["policy_version"] == shipped.version
    cell = data["permissions"]["article.view"]["guest"]  # type: ignore[index]
    [place] = [rule.place for rule in shipped.rules if (rule.sub, rule.act) == ("guest", "article.view")]
    assert cell == {"allow": ["published"], "deny": [], "lines": [place]}
    assert "guest" not in data["permissions"]["article.update"]  # type: ignore[index]
    assert data["scopes"]["read:profile"] == ["profile.view"]  # type: ignore[index]


# The page


class _Page(HTMLParser):
    """Collects tags and texts, and checks that every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.behind: list[str] = []  # what is shown when a mark is opened
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "small" in self.open:
            self.behind.append(data)
        elif any(tag in self.open for tag in ("td", "th")):
            self.rows[-1][-1] += data


def test_the_page_is_whole_and_needs_nothing_else(shipped: Policy) -> None:
    html = as_html(matrix(shipped))
    page = _Page(html)
    assert page.open == []
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe"}
    assert not re.search(r"https?:|url\(|@import|src=", html)


def test_the_page_has_a_row_for_each_permission_and_a_cell_for_each_role(shipped: Policy) -> None:
    page = _Page(as_html(matrix(shipped)))
    rows = [row for row in page.rows if len(row) == len(ROLES) + 1]
    assert len(rows) == 1 + len(PERMISSIONS)
    assert rows[0][1:] == list(matrix(shipped).columns)
    assert rows[1][:2] == ["view", "published"]
    assert rows[1][-1] == "✓"


def test_a_cell_of_the_page_names_the_lines_behind_it(shipped: Policy) -> None:
    page = _Page(as_html(matrix(shipped)))
    titles = [attrs["title"] for tag, attrs in page.tags if tag == "td"]
    [place] = [rule.place for rule in shipped.rules if (rule.sub, rule.act) == ("guest", "article.view")]
    assert f"guest may article.view: published\n{place}" in titles
    assert place in page.behind


def test_every_mark_of_the_table_can_be_opened_without_a_mouse(shipped: Policy) -> None:
    table = matrix(shipped)
    marked = [grant for section in table.sections for row in section.rows for grant in row.grants if grant.places]
    tags = [tag for tag, _ in _Page(as_html(table)).tags]
    assert tags.count("details") == tags.count("summary") == len(marked)


def _luminance(colour: str) -> float:
    digits = colour * 2 if len(colour) == 3 else colour
    parts = [int(digits[start:start + 2], 16) / 255 for start in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("mark", ["yes", "if", "no", "never"])
def test_every_mark_can_be_seen_in_either_colour_scheme(shipped: Policy, mark: str, scheme: int) -> None:
    page = as_html(matrix(shipped))
    ink = re.search(rf"\.{mark} {{[^}}]*\bcolor: var\(--([\w-]+)\)", page)
    assert ink is not None
    ground = "card" if mark == "never" else f"{mark}-tint"
    both = [re.findall(rf"--{name}: #([0-9a-f]+);", page)[scheme] for name in (ink[1], ground)]
    lighter, darker = sorted(map(_luminance, both), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3  # WCAG 2.2, 1.4.11


def test_the_page_shows_what_a_policy_says_as_text_only(directory: Path) -> None:
    replace(directory / "model.conf", "r.env.hour >= 8 && ", "r.env.hour > 8 && r.sub.department != 'a' && ")
    add_line(directory / "admin.csv", "p, user, stats.view, office_hours, allow")
    html = as_html(matrix(load(directory, VOCABULARY)))
    assert "r.env.hour &gt; 8 &amp;&amp; r.sub.department != &#39;a&#39;" in html
    assert _Page(html).open == []
