"""The access matrix of a policy, as text, as a page and as data."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from policies import SHIPPED, Policy, Principal, load
from policies.evaluation.grants import Grants
from policies.evaluation.principal import FixedEnvironment
from policies.tools.matrix import Matrix, as_text, matrix
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


@pytest.mark.parametrize("role", sorted(set(ROLES) - {"guest"}))
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
    assert f"{ZOE}, in addition to the role" in lines
    assert any(line.split() == ["article.publish", "own"] for line in lines)
    assert table.as_json()["persons"] == {ZOE: {"article.publish": "own", "comment.create": "denied always"}}
    page = _Page(as_html(table))
    assert page.persons == [[ZOE, "2 permissions", "own article.publish", f"articles.csv:{_line_of(table, 'publish')}",
                             f"p, {ZOE}, article.publish, own, allow", "not always comment.create",
                             f"comments.csv:{_line_of(table, 'create')}", f"p, {ZOE}, comment.create, always, deny"]]


def test_permissions_that_one_line_gives_a_person_are_told_together(directory: Path) -> None:
    add_line(directory / "session.csv", f"p, {ZOE}, token.*, office_hours, allow")
    page = _Page(as_html(matrix(load(directory, VOCABULARY))))
    [[_, count, given, *_]] = page.persons
    assert (count, given) == ("3 permissions", "office_hours token.create, token.delete, token.view")
    assert any("office_hours" in meaning for meaning in page.terms), "a condition that only a person's line has"


def test_a_role_lent_to_a_person_is_listed_with_all_that_it_gives(directory: Path) -> None:
    add_line(directory / "roles.csv", f"g, {ZOE}, moderator")
    found = matrix(load(directory, VOCABULARY)).persons[ZOE]
    assert found["comment.approve"].words == "always"
    assert "product.create" not in found


def test_chosen_roles_alone_are_shown(shipped: Policy) -> None:
    assert matrix(shipped, ["guest", "user"]).columns == ("guest", "user")


def test_chosen_resources_alone_are_shown_with_their_persons_and_scopes(directory: Path) -> None:
    add_line(directory / "articles.csv", f"p, {ZOE}, article.publish, own, allow")
    add_line(directory / "comments.csv", f"p, {ZOE}, comment.create, always, deny")
    add_line(directory / "comments.csv", "p, user:0199f3a0-0000-7000-8000-000000000002, comment.create, always, deny")
    table = matrix(load(directory, VOCABULARY), resources=["order", "article", "order"])
    assert [section.resource for section in table.sections] == ["article", "order"]
    assert {key: list(spoken) for key, spoken in table.persons.items()} == {ZOE: ["article.publish"]}
    assert [scope for scope, _ in table.scopes] == [
        f"{kind}:{area}" for kind in ("manage", "read", "write") for area in ("articles", "orders")]
    page = _Page(as_html(table))
    assert page.open == []
    assert page.shown_of == f"of {sum(len(section.rows) for section in table.sections)} permissions, of 9 roles"


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
        self.buttons: list[tuple[str, str]] = []  # name, and id of the opened element
        self.notes: dict[str, list[str]] = {}  # the texts of each popover, by its id
        self.persons: list[list[str]] = []
        self.terms: list[str] = []
        self.shown_of = ""
        self.open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append((tag, given))
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "button" and self._within("td"):
            self.buttons.append(("", given["popovertarget"] or ""))
        elif tag == "details":
            self.persons.append([])
        elif "popover" in given:
            self.notes[given["id"] or ""] = []
        if tag not in ("meta", "br", "input"):
            self.open.append((tag, given))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        if self._within("td") and not self._within("sup"):
            if self._within("button"):
                name, target = self.buttons[-1]
                self.buttons[-1] = (name + data, target)
            if not self._of_class("vh"):
                self.rows[-1][-1] = f"{self.rows[-1][-1]} {words}".strip()
        elif self._within("th"):
            self.rows[-1][-1] += data
        elif self._within("details") and words:
            if self._within("p") and self.persons[-1][-1].startswith(("own", "not", "office_hours")):
                self.persons[-1][-1] += f" {words}"
            else:
                self.persons[-1].append(words)
        elif self._of_class("note") and words:
            [note] = [given["id"] or "" for _, given in self.open if "popover" in given]
            self.notes[note].append(words)
        elif self._within("dt"):
            self.terms.append(words)
        elif self._of_class("count"):
            self.shown_of = f"{self.shown_of} {words}".strip()

    def _within(self, tag: str) -> bool:
        return any(tag == one for one, _ in self.open)

    def _of_class(self, name: str) -> bool:
        return any(name in (given.get("class") or "").split() for _, given in self.open)


def _line_of(table: Matrix, action: str) -> int:
    [line] = [part.rule.line for permission, grant in table.persons[ZOE].items() if permission.endswith(action)
              for part in (*grant.allows, *grant.denies)]
    return line


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
    assert rows[1][:2] == ["article.view", "published"]
    assert rows[1][-1] == "✓"
    assert page.shown_of == f"of {len(PERMISSIONS)} permissions, of {len(ROLES)} roles"


def test_a_mark_opens_the_lines_behind_it_with_what_their_conditions_mean(directory: Path) -> None:
    add_line(directory / "articles.csv", "p, guest, article.view, office_hours, deny")
    policy = load(directory, VOCABULARY)
    page = _Page(as_html(matrix(policy)))
    [opened] = [note for name, note in page.buttons if name.startswith("guest article.view: ")]
    number, *texts, close = page.notes[opened]
    lines = [rule for rule in policy.rules if (rule.sub, rule.act) == ("guest", "article.view")]
    assert texts == [
        lines[0].place, "p, guest, article.view, published, allow",
        lines[1].place, "p, guest, article.view, office_hours, deny",
        "published", "r.obj.status == 'published'", "office_hours", policy.conditions["office_hours"].source,
    ]
    assert (f"note-{number}", close) == (opened, "Close")


def test_every_mark_of_the_table_is_a_named_button_and_marks_of_the_same_lines_share_a_note(shipped: Policy) -> None:
    table = matrix(shipped)
    page = _Page(as_html(table))
    marked = [(role, row.permission, grant) for section in table.sections for row in section.rows
              for role, grant in zip(table.columns, row.grants, strict=True) if grant.places]
    assert [name.split(":")[0] for name, _ in page.buttons] == [f"{role} {asked}" for role, asked, _ in marked]
    assert {note for _, note in page.buttons} == set(page.notes)
    behind = {(note, *grant.places) for (_, note), (*_, grant) in zip(page.buttons, marked, strict=True)}
    assert len(behind) == len(page.notes), "one note for each set of lines"
    shown = {(note, *(text for text in page.notes[note] if re.fullmatch(r"\w+\.csv:\d+", text))) for note in page.notes}
    assert behind == shown


def test_marks_and_their_notes_have_the_same_number_on_paper(shipped: Policy) -> None:
    html = as_html(matrix(shipped))
    marks = re.findall(r'<button popovertarget="note-(\d+)">.*?<sup>(\d+)</sup></button>', html, re.DOTALL)
    assert marks
    assert all(target == number for target, number in marks)
    hidden = html.partition("@supports selector(:popover-open)")
    assert "td sup, .notes h2, .note > sup { display: none; }" in hidden[2]
    assert hidden[0].rpartition("\n")[2].startswith("@media screen {")
    assert "sup { display: none" not in hidden[0], "where there are no popovers, and on paper, the notes are shown"


def test_each_role_and_each_resource_has_a_chip_and_a_rule_that_shows_it(shipped: Policy) -> None:
    table = matrix(shipped)
    html = as_html(table)
    page = _Page(html)
    chips = [given["id"] for tag, given in page.tags if tag == "input"]
    assert chips == [*(f"role-{number}" for number in range(1, len(table.columns) + 1)),
                     *(f"resource-{number}" for number in range(1, len(table.sections) + 1))]
    for chip in chips:
        assert f".page:has(#{chip}:checked)" in html
    groups = [given["class"] for tag, given in page.tags if tag == "tbody"]
    assert groups == [f"r r{number}" for number in range(1, len(table.sections) + 1)]
    assert sum(given.get("class") == "c" for tag, given in page.tags if tag == "th") == len(table.columns)


def test_one_role_of_one_resource_has_nothing_to_filter(shipped: Policy) -> None:
    page = _Page(as_html(matrix(shipped, ["guest"], ["article"])))
    assert not {tag for tag, _ in page.tags} & {"form", "fieldset", "input"}


def test_the_page_of_five_hundred_persons_keeps_them_folded_and_small(directory: Path) -> None:
    lines = [f"p, user:0199f3a0-0000-7000-8000-{person:012}, {permission}, always, allow"
             for person in range(500) for permission in sorted(PERMISSIONS)[:100:10]]
    assert len(lines) == 5000
    (directory / "persons.csv").write_text("\n".join([*lines, "# end", ""]), encoding="utf-8")
    html = as_html(matrix(load(directory, VOCABULARY)))
    persons = [given for tag, given in _Page(html).tags if tag == "details"]
    assert len(persons) == 500
    assert not any("open" in given for given in persons)
    assert len(html) < 2_000_000


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
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5  # WCAG 2.2, 1.4.3


def test_the_page_shows_what_a_policy_says_as_text_only(directory: Path) -> None:
    replace(directory / "model.conf", "r.env.hour >= 8 && ", "r.env.hour > 8 && r.sub.department != 'a' && ")
    add_line(directory / "admin.csv", "p, user, stats.view, office_hours, allow")
    html = as_html(matrix(load(directory, VOCABULARY)))
    assert "r.env.hour &gt; 8 &amp;&amp; r.sub.department != &#39;a&#39;" in html
    assert _Page(html).open == []
