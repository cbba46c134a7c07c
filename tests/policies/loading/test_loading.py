"""What a policy file may not say, and that no damage to a file ever opens a door."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

import policies
import policies.loading.oracle
from policies import Column, Policy, PolicyError, Resource, Vocabulary
from policies.loading.loader import from_files, load
from policies.loading.oracle import sample_questions
from tests.policies.generated import BRANCHES, MATCHER, MODEL, WHO_AND_WHAT, assembled, model
from tests.policies.shipped_vocabulary import VOCABULARY

FILES = {
    place.name: place.read_bytes()
    for place in policies.SHIPPED.iterdir()
    if place.name == "model.conf" or place.suffix == ".csv"
}
RULE = "p, user, article.view, own, allow"
PERSON = "user:01920000-0000-7000-8000-000000000001"


ORPHAN = "notes.csv: no installed collection has these rules"


@pytest.mark.parametrize(("name", "lines", "told"), [
    ("notes.csv", "p, user, note.view, own, allow\np, user, note.update, own, allow", True),
    ("notes.csv", "p, user, article.veiw, own, allow\np, user, article.view, own, allow", False),
    ("articles.csv", "p, user, article.veiw, own, allow", False),
], ids=["of a plugin that is gone", "with a slip in one line", "shipped"])
def test_a_file_of_a_plugin_that_is_gone_is_told_from_a_slip(tmp_path, name, lines, told):
    for place, content in (FILES | {name: f"{lines}\n# end\n".encode()}).items():
        (tmp_path / place).write_bytes(content)
    with pytest.raises(PolicyError) as refused:
        load(tmp_path, VOCABULARY, required=FILES)
    assert any(str(finding).startswith(ORPHAN) for finding in refused.value.findings) is told


def findings_of(rules: list[str], roles: list[str] | None = None, text: str = MODEL) -> list[str]:
    with pytest.raises(PolicyError) as refused:
        assembled(rules, roles, text)
    return [str(finding) for finding in refused.value.findings]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("q, user, article.view, own, allow", "a line begins with p, p2 or g, not with `q`"),
        ("p, user, article.view, own", "p takes 4 columns (who, permission, when, effect), not 3"),
        ("p, user, article.view, own, allow, x", "p takes 4 columns"),
        ("p, user, article.view, own, allow,", "p takes 4 columns"),
        ("p, usr, article.view, own, allow", "`usr` is neither a role nor user:<id>"),
        ("p, user:7, article.view, own, allow", "`user:7` is neither a role nor user:<id>"),
        ("p, user, article.veiw, own, allow", "`article.veiw` is no permission"),
        ("p, user, artcle.*, own, allow", "`artcle.*` is no permission"),
        ("p, user, article.[vu]*, own, allow", "is no permission"),
        ("p, user, **, own, allow", "is no permission"),
        ("p, user, article.view, mine, allow", "`mine` is no condition; known are active, always"),
        ("p, user, article.view, own, dney", "`dney` is no effect; write allow or deny"),
        ("p, user, article.view, own, Allow", "`Allow` is no effect"),
        ("p, user, , own, allow", "`` is no permission"),
        ('p, user, "article.view", own, allow', "quotes become part of the value"),
        ("p, user, article.view, 'own', allow", "quotes become part of the value"),
        ("p, user, article.view, own, deny # not yet", "write comments on lines of their own"),
        ("p, user, category.view, published, allow", "category has no column status"),
        ("p, user, *, own, allow", "has no column owner_id"),
        ("p2, raed:articles, article.view", "`raed:articles` is no scope"),
        ("p2, read:rule, article.view", "`read:rule` is no scope: rule is unknown"),
        ("p2, read:rules, article.veiw", "is no permission"),
        ("p2, read:articles", "p2 takes 2 columns"),
        ("g, user", "g takes 2 columns"),
        ("g, user, gust", "`gust` is no role"),
        (f"g, user, {PERSON}", "is no role"),
        ("\ufeffp, user, article.view, own, allow", "control character"),
        ("p, user, article.view,\u00a0own, allow", "control character"),
        ("p, user, article.view, own,\x0b allow", "control character"),
        ("# ending", "`# end` may stand on the last line only"),
    ],
)
def test_a_line_that_is_not_understood_is_an_error_at_its_place(line: str, message: str) -> None:
    found = findings_of([RULE, line])
    assert any(finding.startswith("rules.csv:2: ") and message in finding for finding in found), found


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    found = findings_of([RULE, "p, user, x.view, own, allow", "p, user, article.view, own", "g, user, x"], ["g, guest"])
    assert [finding.partition(": ")[0] for finding in found] == [
        "roles.csv:1", "rules.csv:2", "rules.csv:3", "rules.csv:4",
    ]


@pytest.mark.parametrize(
    ("links", "message"),
    [
        (["g, user, user"], "the roles inherit in a circle: user → user"),
        (["g, user, editor", "g, editor, owner", "g, owner, user"], "in a circle"),
    ],
)
def test_roles_that_inherit_in_a_circle_are_refused(links: list[str], message: str) -> None:
    assert any(message in finding for finding in findings_of([RULE], links))


def test_a_chain_of_roles_that_casbin_gives_up_on_is_refused() -> None:
    vocabulary = policies.Vocabulary(VOCABULARY.resources, frozenset(f"r{n}" for n in range(12)))

    def chained(length: int) -> Policy:
        links = "".join(f"g, r{n}, r{n + 1}\n" for n in range(length))
        rules = f"p, r{length}, article.view, always, allow\n# end\n".encode()
        return from_files(
            {"model.conf": MODEL.encode(), "roles.csv": f"{links}# end\n".encode(), "a.csv": rules},
            vocabulary,
        )

    first = policies.Principal("1", "user:1", "r0", "t")
    row = VOCABULARY.resources["article"].row()
    longest = chained(9)
    assert longest.decide(first, "article.view", row, None)
    assert policies.loading.oracle.Oracle(longest.files).decide(first, "article.view", row, _noon())
    with pytest.raises(PolicyError, match="inherits over 10 links"):
        chained(10)


def _noon() -> object:
    return policies.loading.oracle.environment(random.Random(0))


@pytest.mark.parametrize("files", [["p, user, article.view, own, allow"], []])
def test_a_file_must_end_with_its_last_line(files: list[str]) -> None:
    with pytest.raises(PolicyError, match="the last line must be the comment `# end`"):
        from_files({**FILES, "articles.csv": "\n".join(files).encode()}, VOCABULARY)


def test_a_policy_without_rules_is_refused() -> None:
    assert any("the policy has no rules" in finding for finding in findings_of([]))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as refused:
        load(tmp_path, VOCABULARY, required=("articles.csv",))
    text = str(refused.value)
    assert "model.conf: the file is missing" in text
    assert "articles.csv: the file is missing; `gatepost policy adopt articles`" in text
    with pytest.raises(PolicyError, match="cannot be read"):
        load(tmp_path / "nowhere", VOCABULARY)


@pytest.mark.parametrize("name", ["articles copy.csv", "articles.bak.csv", "Articles.csv", "articles-2.csv"])
def test_a_copy_of_a_policy_file_is_refused(tmp_path: Path, name: str) -> None:
    for file, content in FILES.items():
        (tmp_path / file).write_bytes(content)
    (tmp_path / ".articles.csv").write_text("an editor's draft")
    load(tmp_path, VOCABULARY)
    (tmp_path / name).write_bytes(FILES["articles.csv"])
    with pytest.raises(PolicyError, match="is this a copy"):
        load(tmp_path, VOCABULARY)


def test_columns_of_a_known_format_are_compared_with_their_like() -> None:
    """Postgres compares a uuid with a uuid only, and a time with a time."""
    uuid, moment, text = Column(str, True, "uuid"), Column(str, False, "date-time"), Column(str, True)
    columns = {"id": uuid, "owner_id": uuid, "created_at": moment, "note": text}
    vocabulary = Vocabulary({"note": Resource("note", frozenset(("note.view",)), columns)}, VOCABULARY.roles)

    def accepted(condition: str) -> bool:
        files = {
            "model.conf": model(f"{WHO_AND_WHAT} && p.when == 'new' && {condition}").encode(),
            "roles.csv": b"# end\n",
            "notes.csv": b"p, user, note.view, new, allow\n# end\n",
        }
        try:
            return bool(from_files(files, vocabulary).rules)
        except PolicyError:
            return False

    assert accepted("r.obj.owner_id == r.sub.id")
    assert accepted("r.obj.owner_id == '01920000-0000-7000-8000-000000000001'")
    assert accepted("r.obj.created_at >= '2026-01-01T00:00:00.000000Z'")
    assert accepted("r.obj.note == r.sub.department")
    assert accepted("r.obj.note == r.sub.id")
    assert not accepted("r.obj.owner_id == r.sub.key")
    assert not accepted("r.sub.department == r.obj.owner_id")
    assert not accepted("r.obj.owner_id == '7'")
    assert not accepted("r.obj.owner_id == r.obj.note")
    assert not accepted("r.obj.created_at >= '2026-01-01'")
    assert not accepted("r.obj.created_at >= r.env.date")
    assert not accepted("r.env.date > r.obj.note")


def test_a_plugin_brings_its_rules_unless_the_directory_has_its_own(tmp_path: Path) -> None:
    for name in ("model.conf", "roles.csv", "articles.csv"):
        (tmp_path / name).write_bytes(FILES[name])
    shipped = tmp_path / "plugin"
    shipped.mkdir()
    (shipped / "notes.csv").write_text("p, user, comment.view, always, allow\n# end\n")
    plugins = {"notes.csv": shipped / "notes.csv"}
    assert [r.when for r in load(tmp_path, VOCABULARY, plugins=plugins).rules if r.file == "notes.csv"] == ["always"]
    (tmp_path / "notes.csv").write_text("p, user, comment.view, own, allow\n# end\n")
    assert [r.when for r in load(tmp_path, VOCABULARY, plugins=plugins).rules if r.file == "notes.csv"] == ["own"]


# --- model.conf --------------------------------------------------------------------------------------------


def branch(condition: str) -> str:
    return model(f"{WHO_AND_WHAT} && ({BRANCHES} || \\\n    p.when == 'new' && {condition})")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("r.obj.colour == 'red'", "article has no column colour"),
        ("r.obj.status == 1", "r.obj.status is a text; 1 is not"),
        ("r.obj.version == '1'", "r.obj.version is a number; '1' is not"),
        ("r.obj.status > 'draft'", "has no order"),
        ("r.obj.version == r.sub.id", "are of different types"),
        ("r.env.hour >= '8'", "r.env.hour is a number"),
        ("r.env.date > '1 May'", "r.env.date is a date"),
        ("r.sub.name == 'x'", "r.sub.name is unknown; known are id, key"),
        ("r.env.minute == 3", "r.env.minute is unknown"),
        ("true", "bare `true`"),
        ("r.obj.status == true", "bare `true`"),
        ("r.obj.status", "alone is no condition"),
        ("!(r.obj.status == 'draft')", "write !="),
        ("!shared(r.sub, r.obj, r.act)", "write !="),
        ("!r.env.hour == 3", "put brackets around what `!` negates"),
        ("8 <= r.env.hour < 18", "one comparison at a time"),
        ("not (r.env.hour == 3)", "`not` is no word of a matcher"),
        ("r.obj.status in ('a', 'b')", "`in` is no word of a matcher"),
        ("r.obj.status == 'a' or r.env.hour == 3", "`or` is no word of a matcher"),
        ("r.obj.version + 1 == 3", "cannot be used"),
        ("r.obj.owner.name == 'x'", "cannot be used here"),
        ("r.obj.__class__ == 'x'", "cannot be used here"),
        ("__import__('os').system('true') == 0", "cannot be used"),
        ("open('/etc/passwd')", "`open` is no function of a matcher"),
        ("keyMatch(r.act, p.act)", "use globMatch"),
        ("regexMatch(r.obj.status, '.*')", "`regexMatch` is no function"),
        ("eval(p.when)", "`eval` is no function"),
        ("globMatch(r.obj.status, 'd*')", "write globMatch(r.act, p.act)"),
        ("ipMatch(r.obj.status, '10.0.0.0/8')", "write ipMatch(r.env.ip"),
        ("ipMatch(r.env.ip, '10.0.0.0/99')", "is no network address"),
        ("ipMatch(r.env.ip)", "takes 2 arguments"),
        ("g(r.obj.owner_id, p.sub)", "g asks about r.sub.role or r.sub.key"),
        ("shared(r.obj, r.sub, r.act)", "write shared(r.sub, r.obj, r.act)"),
        ("r.obj.status == 'a && b'", "Casbin would read these characters"),
        ("r.obj.status == 'a!'", "Casbin would read these characters"),
        ("r.obj.status == 'r.x'", "Casbin would read these characters"),
        (r"r.obj.status == 'a\x62'", "Casbin would read these characters"),
        ("r.obj.status == 'a' 'b'", "Casbin would read these characters"),
        ("r.obj.version == 0x10", "cannot be used"),
        ("r.obj.version == 99999999999999999999", "cannot be used"),
        ("r.obj.version == 1.5", "cannot be used"),
        ("'a' == 'a'", "are both fixed"),
        ("r.obj.status == 'a", "is not an expression"),
        ("(r.obj.status == 'a'", "is not an expression"),
        ("r.obj.status = 'a'", "is not an expression"),
        ("r.obj.status == 'a' &&", "is not an expression"),
        ("r.obj.stаtus == 'a'", "cannot stand in a matcher"),
        ("r.env.hour == 3 || r.obj.status == 'a'", "holds whatever the condition is"),
        ("(" * 300 + "r.env.hour == 3" + ")" * 300, "model.conf"),
    ],
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
        ("(g(r.sub.role, p.sub) || g(r.sub.key, p.sub)) && ", "", "holds whoever asks"),
        ("p.when == 'always' || \\", "p.when == 'always' || # ! \\", "comments on lines of their own"),
        ("p.when == 'always' || \\\n", "p.when == 'always' || \\\n\n", "needs another line"),
    ],
)
def test_the_frame_of_the_model_is_fixed(old: str, new: str, message: str) -> None:
    assert old in MODEL
    found = findings_of([RULE], None, MODEL.replace(old, new, 1))
    assert any(message in finding for finding in found), found


# --- damage ------------------------------------------------------------------------------------------------

SHIPPED = from_files(FILES, VOCABULARY)


class Baseline:
    """The answers of the shipped model and roles with the rules of one file, to compare damage with."""

    def __init__(self, name: str) -> None:
        wanted = dict.fromkeys(
            ("model.conf", "roles.csv", "articles.csv" if name in ("model.conf", "roles.csv") else name)
        )
        self.files = {file: FILES[file] for file in wanted}
        if name == "scopes.csv":
            self.files["session.csv"] = FILES["session.csv"]
        self.policy = from_files(self.files, VOCABULARY)
        samples = itertools.islice(sample_questions(self.policy, random.Random(3)), 150)
        self.asked = [question for _, question in samples]
        self.answers = [self.policy.decide(*question) for question in self.asked]

    def is_safe_from(self, name: str, content: bytes) -> bool:
        """Whether a damaged file is refused, each finding with its place, or allows nothing that was refused."""
        try:
            damaged = from_files({**self.files, name: content}, VOCABULARY)
        except PolicyError as error:
            return all(finding.file and finding.severity == "error" for finding in error.findings)
        answers = zip(self.asked, self.answers, strict=True)
        return all(damaged.decide(*question) <= answer for question, answer in answers)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_cut_anywhere_is_refused_or_the_same(name: str) -> None:
    """Around every end of a line, and at every fifth byte."""
    baseline, content = Baseline(name), FILES[name]
    ends = {at + near for at, byte in enumerate(content) if byte == ord("\n") for near in (-2, -1, 0, 1)}
    for length in sorted({*range(0, len(content), 5), *ends} & {*range(len(content))}):
        if content[:length] == content.removesuffix(b"\n"):
            whole = from_files({**baseline.files, name: content[:length]}, VOCABULARY)
            assert (whole.model, whole.rules) == (baseline.policy.model, baseline.policy.rules)
            continue
        with pytest.raises(PolicyError) as refused:
            from_files({**baseline.files, name: content[:length]}, VOCABULARY)
        assert any(finding.file == name for finding in refused.value.findings), length


def damaged_lines(line: str) -> list[str]:
    """A line of a CSV file with a column dropped, added or misspelt, with quotes, or with a comment."""
    columns = [column.strip() for column in line.split(",")]
    found = [", ".join(columns[:n] + columns[n + 1 :]) for n in range(len(columns))]
    found += [", ".join([*columns[:n], "x", *columns[n:]]) for n in range(len(columns) + 1)]
    for n, column in enumerate(columns):
        for wrong in (column[:-1], column[1:], column + column[-1], column[::-1], column.upper(), f'"{column}"',
                      f"'{column}'", f"{column} # why", f"{column};", f"{column}\r", f"\ufeff{column}"):
            if wrong != column:
                found.append(", ".join([*columns[:n], wrong, *columns[n + 1 :]]))
    return [*found, line + ",", line.replace(",", ";"), line.replace(",", ""), f"{line} # why", f'"{line}"']


@pytest.mark.parametrize("name", sorted(set(FILES) - {"model.conf"}))
def test_a_damaged_line_is_refused_or_opens_nothing(name: str) -> None:
    baseline, lines = Baseline(name), FILES[name].decode().splitlines()
    for number, line in enumerate(lines):
        if line.startswith("#") or not line:
            continue
        # A third of the ways for each line, another third for the next.
        for damaged in damaged_lines(line)[number % 3 :: 3]:
            text = "\n".join([*lines[:number], damaged, *lines[number + 1 :], ""])
            assert baseline.is_safe_from(name, text.encode()), (name, number + 1, damaged)


def test_a_damaged_matcher_is_refused_or_opens_nothing() -> None:
    """Each line of model.conf dropped, doubled, cut short, and every word of the matcher left out."""
    baseline, lines = Baseline("model.conf"), MODEL.splitlines()
    damaged = ["\n".join([*lines[:n], *lines[n + 1 :], ""]) for n in range(len(lines))]
    damaged += ["\n".join([*lines[: n + 1], *lines[n:], ""]) for n in range(len(lines))]
    damaged += ["\n".join([*lines[:n], lines[n][:-1], *lines[n + 1 :], ""]) for n in range(len(lines))]
    words = MATCHER.split(" ")
    for n in range(len(words)):
        damaged.append(MODEL.replace(MATCHER, " ".join([*words[:n], *words[n + 1 :]])))
    damaged += [
        MODEL.replace("'", '"', 1),
        MODEL.replace("|| \\", "|| \\ # or", 1),
        MODEL.replace("&&", "and", 1),
    ]
    for text in damaged:
        assert baseline.is_safe_from("model.conf", text.encode()), text


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_byte_order_mark_is_refused_and_windows_line_ends_change_nothing(name: str) -> None:
    with pytest.raises(PolicyError, match="byte order mark"):
        from_files({**FILES, name: b"\xef\xbb\xbf" + FILES[name]}, VOCABULARY)
    with pytest.raises(PolicyError, match="byte order mark"):
        from_files({**FILES, name: FILES[name].decode().encode("utf-16")}, VOCABULARY)
    with pytest.raises(PolicyError, match="not UTF-8"):
        from_files({**FILES, name: b"# caf\xe9\n" + FILES[name]}, VOCABULARY)
    windows = from_files({**FILES, name: FILES[name].replace(b"\n", b"\r\n")}, VOCABULARY)
    assert windows.rules == SHIPPED.rules
    assert windows.model == SHIPPED.model
