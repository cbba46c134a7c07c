"""The grammar as a table: each valid spelling with its decisions, and each refused spelling with the reason.

Casbin has implementations in several languages, which differ in some spellings. Gatepost accepts the spellings that all
of them read alike, and refuses all others with a sentence that says what to write.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from policies import Policy, Principal
from policies.evaluation.principal import FixedEnvironment
from policies.loading.sample import PEOPLE, Arguments
from tests.policies.generated import WHO_AND_WHAT, assembled, model
from tests.policies.shipped_vocabulary import VOCABULARY

ME, OTHER = PEOPLE
NOW = FixedEnvironment()  # 2026-11-18T10:00:00.000000Z
BEFORE, AFTER = "2026-11-18T09:59:59.999999Z", "2026-11-18T10:00:00.000001Z"
MISSING: dict[str, Any] = {}
TRUE, FALSE = {"active": True}, {"active": False}
DRAFT, REVIEWED, PUBLISHED = ({"status": state} for state in ("draft", "in_review", "published"))
ATLAS, SALES, NO_GROUP = ("atlas",), ("oxen", "sales"), ()
ONE_LIST = (({"status": "draft"}, True), (REVIEWED, True), (PUBLISHED, False), (MISSING, False))


@dataclass(frozen=True)
class Read:
    """A valid spelling.

    says     the condition of the word `new`; the whole branch if it takes a parameter
    answers  the present columns of an object → True if it is allowed
    when     the condition's word in the rule
    """

    says: str
    answers: tuple[tuple[dict[str, Any], bool], ...]
    when: str = "new"
    what: str = "article.view"
    caller: dict[str, Any] = field(default_factory=dict)

    @property
    def policy(self) -> Policy:
        named = self.says if self.says.startswith("p.when") else f"p.when == 'new' && {self.says}"
        text = model(f"{WHO_AND_WHAT} && (p.when == 'always' || \\\n    {named})")
        return assembled([f"p, user, {self.what}, {self.when}, allow"], None, text)

    @property
    def questions(self) -> list[tuple[Arguments, bool]]:
        principal = Principal(**{"id": ME, "key": f"user:{ME}", "role": "user", "tenant_id": "t"} | self.caller)
        resource = VOCABULARY.by_permission[self.what]
        return [((principal, self.what, resource.row(**columns), NOW, lambda *_: False), answer)
                for columns, answer in self.answers]

    def __str__(self) -> str:
        return " ".join(f"{self.says} {self.caller or ''}".split())


def versions(**answers: bool) -> tuple[tuple[dict[str, Any], bool], ...]:
    """`versions(m5=True, p1=False)`: allowed at -5, refused at 1, and refused without a version."""
    signs = {"m": -1, "p": 1}
    return (*(({"version": signs[name[0]] * int(name[1:])}, answer) for name, answer in answers.items()),
            (MISSING, False))


# One duration in several spellings, and times around the one that lies so long before NOW.
LONG_AGO = ("P1DT6H", "PT30H", "PT1800M", "PT108000S", "P1DT5H59M60S", "P0DT30H")
EARLIER = {"before": "2026-11-17T03:59:59.999999Z", "at": "2026-11-17T04:00:00.000000Z",
           "after": "2026-11-17T04:00:00.000001Z"}


def ages(place: str) -> tuple[tuple[dict[str, Any], bool], ...]:
    """Allowed at this one of the times of EARLIER alone, and refused without a time."""
    return (*(({"created_at": time}, name == place) for name, time in EARLIER.items()), (MISSING, False))


READ = [
    # Truth values.
    Read("r.obj.active == 1", ((TRUE, True), (FALSE, False), (MISSING, False)), what="user.view"),
    Read("r.obj.active == 0", ((TRUE, False), (FALSE, True), (MISSING, False)), what="user.view"),
    Read("1 == r.obj.active", ((TRUE, True), (FALSE, False), (MISSING, False)), what="user.view"),
    # Lists.
    Read("(r.obj.status in['draft', 'in_review'])", ONE_LIST),
    Read('(r.obj.status in["draft", "in_review"])', ONE_LIST),
    Read("(r.obj.status in['draft', \\\n        'in_review'])", ONE_LIST),
    Read("( r.obj.status  in['draft','in_review'] )", ONE_LIST),
    Read("(r.obj.status == 'draft' || r.obj.status == 'in_review')", ONE_LIST),
    Read("(r.obj.status in['draft'])", ((DRAFT, True), (REVIEWED, False), (MISSING, False))),
    Read("(r.obj.status in['draft']) && r.obj.version > 1",
         (({**DRAFT, "version": 2}, True), ({**DRAFT, "version": 1}, False), ({"version": 2}, False))),
    Read("r.obj.version > 1 && (r.obj.status in['draft'])",
         (({**DRAFT, "version": 2}, True), ({**DRAFT, "version": 1}, False), ({"version": 2}, False))),
    Read("(r.obj.version in[1, -5])", versions(p1=True, m5=True, p5=False, m1=False)),
    Read("(r.obj.department in['in', 'in review', 'in_review'])",
         (({"department": "in"}, True), ({"department": "in review"}, True), ({"department": "review"}, False))),
    Read("(r.sub.department in['sales'])", ((MISSING, True),), caller={"department": "sales"}),
    Read("!(r.sub.department in['sales'])", ((MISSING, True),), caller={"department": None}),
    Read("!(r.sub.department in['sales'])", ((MISSING, False),), caller={"department": "sales"}),
    # Groups.
    *(Read("inGroup(r.sub, 'atlas')", ((MISSING, groups == ATLAS),), caller={"groups": groups})
      for groups in (ATLAS, SALES, NO_GROUP)),
    *(Read("!inGroup(r.sub, 'atlas')", ((MISSING, groups != ATLAS),), caller={"groups": groups})
      for groups in (ATLAS, SALES, NO_GROUP)),
    *(Read("inGroup(r.sub, r.obj.department)",
           (({"department": "atlas"}, groups == ATLAS), ({"department": "sales"}, groups == SALES), (MISSING, False)),
           caller={"groups": groups}) for groups in (ATLAS, SALES, NO_GROUP)),
    *(Read("inGroup(r.sub, 'head-', r.obj.department)", (
        ({"department": "atlas"}, groups == ("head-atlas",)), ({"department": "sales"}, False),
        ({"department": ""}, groups == ("head-",)), (MISSING, False)), caller={"groups": groups})
      for groups in (("head-atlas",), ("head-",), ("atlas", "headatlas"), ("head-undefined", "head-null", "head-None"),
                     NO_GROUP)),
    Read('inGroup(r.sub, "Köln_" , r.obj.department)', (
        ({"department": "West"}, True), ({"department": "Ost"}, False)), caller={"groups": ("Köln_West",)}),
    # The time.
    Read("r.obj.created_at > r.env.now", (({"created_at": BEFORE}, False), ({"created_at": NOW.now}, False),
                                          ({"created_at": AFTER}, True), (MISSING, False))),
    Read("r.env.now >= r.obj.created_at", (({"created_at": BEFORE}, True), ({"created_at": NOW.now}, True),
                                           ({"created_at": AFTER}, False), (MISSING, False))),
    *(Read(says, (({"created_at": BEFORE}, True), ({"created_at": NOW.now}, True), ({"created_at": AFTER}, False),
                  (MISSING, False)))
      for says in ("r.obj.created_at <= '2026-11-18T10:00:00.000000Z'", "'2026-11-18T10:00:00.000000Z' >= "
                   "r.obj.created_at", 'r.obj.created_at <= "2026-11-18T10:00:00.000000Z"')),
    *(Read(f"olderThan(r.obj.created_at, '{duration}')", ages("before")) for duration in LONG_AGO),
    *(Read(f"youngerThan(r.obj.created_at, '{duration}')", ages("after")) for duration in LONG_AGO),
    Read('olderThan( r.obj.created_at , "P1DT6H" )', ages("before")),
    Read("olderThan(r.obj.created_at, 'P1DT6H') && r.obj.status == 'draft'", (
        ({"created_at": EARLIER["before"], **DRAFT}, True), ({"created_at": EARLIER["after"], **DRAFT}, False),
        ({"created_at": EARLIER["before"]}, False), (DRAFT, False))),
    Read("olderThan(r.obj.created_at, 'P1DT6H') && youngerThan(r.obj.created_at, 'P2D')", (
        ({"created_at": EARLIER["before"]}, True), ({"created_at": EARLIER["at"]}, False),
        ({"created_at": "2026-11-16T10:00:00.000000Z"}, False), ({"created_at": "2026-11-16T10:00:00.000001Z"}, True))),
    Read("youngerThan(r.obj.created_at, 'PT1S')", (({"created_at": AFTER}, True), (MISSING, False))),
    Read("olderThan(r.obj.created_at, 'P36500D')", (
        ({"created_at": "1926-12-13T09:59:59.999999Z"}, True), ({"created_at": "1926-12-13T10:00:00.000000Z"}, False))),
    # Numbers.
    Read("r.obj.version > -1", versions(p0=True, m1=False, m2=False, p3=True)),
    Read("r.obj.version <-1", versions(p0=False, m1=False, m2=True)),
    Read("-5 == r.obj.version", versions(m5=True, p5=False)),
    Read("r.obj.version == 9007199254740991", versions(p9007199254740991=True, p9007199254740990=False)),
    # Parameters.
    Read("p.when == 'language:' + r.obj.language",
         (({"language": "de"}, True), ({"language": "en"}, False), (MISSING, False)), when="language:de"),
    Read("p.when == 'language:' + r.obj.language && r.obj.status == 'draft'",
         (({"language": "de_AT-1", **DRAFT}, True), ({"language": "de_AT-1"}, False), (DRAFT, False)),
         when="language:de_AT-1"),
    Read("p.when == 'desk:' + r.sub.department", ((MISSING, True),), when="desk:sales", caller={"department": "sales"}),
    Read("p.when == 'desk:' + r.sub.department", ((MISSING, False),), when="desk:sales"),
    # A word with a colon that takes none.
    Read("p.when == 'state:draft' && r.obj.status == 'draft'", ((DRAFT, True), (REVIEWED, False)), when="state:draft"),
    # Texts that Casbin does not rewrite.
    Read("r.obj.department == 'ip.x'", (({"department": "ip.x"}, True), ({"department": "x"}, False))),
    Read("r.obj.department == 'a:b.c'", (({"department": "a:b.c"}, True), (MISSING, False))),
    # Texts with letters that have a mark, and what stands behind them on a line.
    Read("r.obj.department == 'Köln' && r.obj.version > 1", (
        ({"department": "Köln", "version": 2}, True), ({"department": "Köln", "version": 1}, False),
        ({"department": "Koln", "version": 2}, False), (MISSING, False))),
    Read('(r.obj.department in["Zürich", "Île-de-France", "Æblegård", "Straße 1"]) && (r.obj.status in[\'draft\'])', (
        ({"department": "Zürich", **DRAFT}, True), ({"department": "Straße 1", **DRAFT}, True),
        ({"department": "Zurich", **DRAFT}, False), ({"department": "Zürich"}, False))),
    Read("r.sub.department != 'Geschäftsführung'", ((MISSING, True),), caller={"department": "Verkauf"}),
    *(Read("inGroup(r.sub, 'Łódź') && !inGroup(r.sub, 'Málaga')", ((MISSING, answer),), caller={"groups": groups})
      for groups, answer in ((("Łódź",), True), (("Łódź", "Málaga"), False), (("Lodz",), False))),
    # A missing value matches nothing.
    Read("r.obj.owner_id == r.sub.id", (({"owner_id": ME}, True), ({"owner_id": OTHER}, False), (MISSING, False))),
    Read("r.obj.department == r.sub.department", ((MISSING, False), ({"department": "sales"}, False))),
    Read("r.obj.owner_id != r.sub.id", (({"owner_id": OTHER}, True), ({"owner_id": ME}, False), (MISSING, False))),
    Read("r.obj.department != r.sub.department", ((MISSING, False), ({"department": "sales"}, False))),
    Read("r.obj.version <= 0", versions(p0=True, p1=False)),
    Read("r.obj.version >= 0", versions(p0=True, m1=False)),
]
AGE = "a time takes no `+` and no `-`; write olderThan(r.obj.created_at, 'P90D')"
TRUTH, LIST, GROUP = "write r.obj.active == 1, or == 0", "(r.obj.status in['a', 'b'])", "write inGroup(r.sub, 'name')"
REWRITTEN, WHOLE, PARAMETER = "would read these characters as an operator", "a whole number", "a parameter is taken by"
# A condition of articles, or of users where it reads `active`, and what the finding says.
REFUSED = {
    # Truth values.
    "r.obj.active != 1": TRUTH,
    "r.obj.active == 2": TRUTH,
    "r.obj.active > 0": TRUTH,
    "r.obj.active == true": "write == 1",
    "r.obj.active == True": "write == 1",
    "r.obj.active == false": "write == 0",
    "r.obj.active == 'true'": TRUTH,
    "r.obj.active == 'True'": TRUTH,
    "r.obj.active": "alone is no condition; write a comparison, such as r.obj.active == 1",
    "!(r.obj.active)": "alone is no condition",
    "!!r.obj.active": "put brackets around what `!` negates",
    "!(r.obj.active == 1)": "write != instead",
    "r.obj.active == (1 == 1)": "cannot be used here",
    # Lists.
    "r.obj.status in ('draft', 'in_review')": LIST,
    "r.obj.status in ['draft', 'in_review']": LIST,
    "(r.obj.status in ('draft', 'in_review'))": LIST,
    "(r.obj.status in ['draft', 'in_review'])": LIST,
    "r.obj.status in['draft', 'in_review']": LIST,
    "r.obj.status in['draft', 'in_review'] && r.env.hour > 3": LIST,
    "(r.obj.status in['draft', 'in_review'] && r.env.hour > 3)": LIST,
    "(r.env.hour > 3 || r.obj.status in['draft', 'in_review'])": LIST,
    "(r.obj.status in('draft'))": LIST,
    "(r.obj.status in('draft',))": LIST,
    "(r.obj.status not in['draft'])": "write !=, or !(…)",
    "(r.obj.status in[])": LIST,
    "(r.obj.status in[r.sub.id])": LIST,
    "(r.obj.status in[ r.sub.id])": LIST,
    "('draft' in[r.obj.status])": LIST,
    "('draft' in['draft'])": "an attribute of r.sub, r.obj or r.env",
    "(p.when in['draft'])": "an attribute of r.sub, r.obj or r.env",
    "(r.obj.status in['draft', 3])": "is a text; 3 is not",
    "!(r.obj.status in['draft'])": "write != instead",
    "r.obj.status == 'made in house'": "would read ` in ` as an operator",
    'r.obj.status == "made in house"': "would read ` in ` as an operator",
    # Groups.
    "('atlas'in r.sub.groups)": "inGroup(r.sub, 'a')",
    "('atlas' in[r.sub.groups])": GROUP,
    "r.sub.groups == 'atlas'": GROUP,
    "inGroup('atlas')": GROUP,
    "inGroup(r.sub, 3)": GROUP,
    "inGroup(r.sub, r.sub.groups)": GROUP,
    "inGroup(r.sub, 'admin-' + r.obj.department)": "write inGroup(r.sub, 'admin-', r.obj.department), with a comma",
    "inGroup(r.sub, '', r.obj.department)": GROUP,
    "inGroup(r.sub, 'admin-', r.sub.department)": GROUP,
    "inGroup(r.sub, 'admin-', 'press')": GROUP,
    "inGroup(r.sub, r.obj.department, '-admin')": GROUP,
    "inGroup(r.sub, 'admin-', r.obj.department, 'x')": GROUP,
    "inGroup(r.sub, 'admin-', r.obj.version)": "is a number, and names no group",
    "inGroup(r.sub, 'p.x', r.obj.department)": REWRITTEN,
    "inGroup(r.sub, r.obj.owner_id)": "is a uuid, and names no group",
    "inGroup(r.obj, r.obj.department)": GROUP,
    "ingroup(r.sub, 'atlas')": "did you mean inGroup?",
    "inGroup(r.sub, 'atlas',)": "take out the comma",
    "shared(r.sub, r.obj, r.act, )": "take out the comma",
    # Blanks within a name.
    "r .obj.status == 'draft'": "write r.obj.status, without a blank",
    "r.obj. status == 'draft'": "write r.obj.status, without a blank",
    "(r.obj).status == 'draft'": "cannot be used here",
    "p .when == 'draft'": "write p.when, without a blank",
    # The time.
    "r.obj.created_at < '2026-12-31T00:00:00Z'": "write it like '2026-11-18T10:30:00.000000Z'",
    "r.obj.created_at < '2026-12-31T00:00:00.000000+02:00'": "write it like '2026-11-18T10:30:00.000000Z'",
    "r.env.now < '2026-12-31'": "write it like '2026-11-18T10:30:00.000000Z'",
    "r.env.now < r.env.date": "are of different types",
    # Ages.
    "r.obj.created_at < r.env.now - 90d": AGE,
    "r.obj.created_at < r.env.now - 'P90D'": AGE,
    "r.obj.created_at + 90 days < r.env.now": AGE,
    "r.env.now - r.obj.created_at > 90": AGE,
    "r.obj.created_at < now() - 90d": AGE,
    "r.obj.created_at < r.env.date - 90": AGE,
    "olderThan(r.obj.created_at, 'P1Y')": "years and months vary in length; write days, such as 'P365D'",
    "youngerThan(r.obj.created_at, 'P3M')": "years and months vary in length; write days, such as 'P90D'",
    "olderThan(r.obj.created_at, 'P1Y2M3DT4H')": "write days, such as 'P425D'",
    **{f"olderThan(r.obj.created_at, '{other}')": "is no duration; write weeks, days, hours, minutes or seconds" for
       other in ("90d", "90", "p90d", "P90", "P", "PT", "P1DT", "P1D6H", "PT6", "P2W1D", "P1.5D", "P090D", "-P90D")},
    "olderThan(r.obj.created_at, 'P0D')": "compare with r.env.now",
    "olderThan(r.obj.created_at, 'PT0S')": "compare with r.env.now",
    "olderThan(r.obj.created_at, 'P36501D')": "write at most 'P36500D'",
    "olderThan(r.obj.created_at, 'P999999999W')": "write at most 'P36500D'",
    "olderThan('P90D', r.obj.created_at)": "write olderThan(r.obj.…, 'P90D')",
    "youngerThan(r.obj.created_at)": "write youngerThan(r.obj.…, 'P90D')",
    "youngerThan(r.obj.created_at, 90)": "write youngerThan(r.obj.…, 'P90D')",
    "olderThan(r.obj.created_at, 'P90D', r.env.now)": "write olderThan(r.obj.…, 'P90D')",
    "olderThan(r.env.now, 'P90D')": "write olderThan(r.obj.…, 'P90D')",
    "olderThan(r.obj.created_at, r.obj.status)": "write olderThan(r.obj.…, 'P90D')",
    "olderThan(r.obj.version, 'P90D')": "r.obj.version is a number; olderThan takes a time",
    "youngerThan(r.obj.status, 'P90D')": "r.obj.status is a text; youngerThan takes a time",
    "olderThan(r.obj.owner_id, 'P90D')": "r.obj.owner_id is a uuid; olderThan takes a time",
    "olderthan(r.obj.created_at, 'P90D')": "did you mean olderThan?",
    "younger_than(r.obj.created_at, 'P90D')": "did you mean youngerThan?",
    "!(olderThan(r.obj.created_at, 'P90D'))": "write youngerThan for",
    "olderThan(r.obj.created_at, 'P90D') == 1": "cannot be used here",
    "olderThan(r.obj.created_at, 'P90D',)": "take out the comma",
    # Texts that Casbin rewrites.
    "r.obj.status == 'p.x'": REWRITTEN,
    "r.obj.status == 'a p.x'": REWRITTEN,
    "r.obj.status == '(p.x'": REWRITTEN,
    "r.obj.status == '-r.x'": REWRITTEN,
    "r.obj.status == 'x.p.y'": REWRITTEN,
    "r.obj.status == 'a && b'": REWRITTEN,
    "r.obj.department == 'R&D'": REWRITTEN,
    "r.obj.department == 'a|b'": REWRITTEN,
    "r.obj.department == 'ür.x'": REWRITTEN,
    r"r.obj.department == 'a\b'": "without backslashes",
    "r.obj.department == ' a'": "without blanks at its ends",
    "r.obj.department == 'C#'": "begin a comment for Casbin, in quotes as well",
    "r.obj.department == 'a;b'": "begin a comment for Casbin, in quotes as well",
    # Letters of other alphabets, and marks that are characters of their own.
    "r.obj.department == 'Москва'": "is not allowed here",
    "r.obj.department == 'Kо\u0308ln'": "type the Latin letter o",
    "r.obj.department == 'Ko\u0308ln'": "type the letter and its mark as one character",
    "r.obj.department == 'K\u200böln'": "take it out",
    "r.obj.department == '\u212aöln'": "KELVIN SIGN (U+212A) is not allowed here",
    "r.obj.department == 'Kıel'": "write plain ASCII letters",
    "r.obj.dépôt == 'Köln'": "write plain ASCII letters",
    "p.when == 'größer' && r.obj.version > 1": "write plain ASCII letters; rules have no others",
    "p.when == 'größe:' + r.obj.department": PARAMETER,
    # Numbers.
    "r.obj.version == - 1": "cannot be used",
    "r.obj.version == --1": "cannot be used",
    "r.obj.version == +1": "cannot be used",
    "r.obj.version >= 49.5": WHOLE,
    "r.obj.version < .5": WHOLE,
    "r.obj.version < 1e3": WHOLE,
    "r.obj.version == 9007199254740993": WHOLE,
    "r.obj.version == -9007199254740993": "cannot be used",
    "r.obj.version == 1_000": WHOLE,
    "r.obj.version == 0049": "not an expression",
    "r.obj.version == -05": "not an expression",
    "r.obj.version == '5'": "write 5 without quotes",
    "r.obj.status == 5": "write '5' in quotes",
    "r.obj.status < 'x'": "has no order",
    # Arithmetic, chains, choices.
    "r.obj.version * 2 < 100": "cannot be used",
    "r.obj.version + 1 < 100": "cannot be used",
    "r.obj.version - 1 < 100": "cannot be used",
    "r.obj.version / 2 < 100": "cannot be used",
    "r.obj.version // 2 < 100": "cannot be used",
    "r.obj.version ** 2 < 100": "cannot be used",
    "r.obj.version % 2 == 1": "cannot be used",
    "0 < r.obj.version < 5": "write one comparison at a time",
    "r.obj.version == 0 == 1": "write one comparison at a time",
    "r.env.hour > 3 ? r.obj.version == 1 : r.obj.version == 2": "not an expression",
    "!r.obj.version == 5": "put brackets around what `!` negates",
    # Functions.
    "keyGet(r.act, 'article.*')": "is no function of a matcher",
    "keyMatch(r.act, p.act)": "use globMatch",
    "regexMatch(r.obj.status, 'd.*')": "is no function of a matcher",
    "eval(p.when)": "is no function of a matcher",
    # Parameters.
    "p.when == 'word' + r.obj.language": PARAMETER,
    "p.when == 'Word:' + r.obj.language": PARAMETER,
    "p.when != 'word:' + r.obj.language": PARAMETER,
    "r.env.hour > - 5": "`- 5` cannot be used here; write -5",
    "r.env.hour > -0": "`-0` cannot be used here; write 0",
    "p.when == r.obj.language + ':word'": "cannot be used here",
    "p.when == 'word:' + 'de'": PARAMETER,
    "p.when == 'word:' + r.obj.version": "is a number; a parameter is a text",
    "p.when == 'word:' + r.obj.total": "r.obj.total is a number; a parameter is a text",
    "p.when == 'word:' + r.env.hour": "is a number; a parameter is a text",
    "r.obj.status == 'word:' + r.obj.language": PARAMETER,
    "p.sub == 'word:' + r.obj.language": PARAMETER,
    "r.obj.language >= '' && p.when == 'word:' + r.obj.language": "has no order",
}
# A line of a CSV file, where `language:` takes a parameter and `own` takes none.
REFUSED_LINES = {
    "p, user, article.view, language, allow": "`language` takes a parameter: write language:",
    "p, user, article.view, language:, allow": "`language` takes a parameter: write language:",
    "p, user, article.view, language:undefined, allow": "not `undefined`",
    "p, user, article.view, language:null, allow": "not `null`",
    "p, user, article.view, language:d e, allow": "not `d e`",
    "p, user, article.view, language:*, allow": "not `*`",
    "p, user, article.view, langauge:de, allow": "`langauge:de` is no condition",
    "p, user, article.view, own:de, allow": "`own` takes no parameter; write own",
    "p, user, order.view, language:de, allow": "order has no column language",
    "p, user, article.view, own": "takes 4 columns",
    "p, user, article.view, own, allow, de": "takes 4 columns",
    ",,": "a line begins with p, p2 or g",
    "never, guest, order.*": "a line begins with p, p2 or g",
    "permit, user, article.view, own, allow": "a line begins with p, p2 or g",
    "p3, never, guest, *.delete, always": "a line begins with p, p2 or g",
}
