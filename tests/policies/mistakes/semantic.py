"""Mistakes of meaning: every line is valid, but does not do what its author meant."""

from __future__ import annotations

from .mistake import Edit, Mistake, Told, add, as_bytes, both, change, cut, new_file, told

M, F, R, A = "model.conf", "orders.csv", "roles.csv", "articles.csv"
ID = "0199f3a0-0000-7000-8000-000000000001"
MINE = "p.when == 'mine'"  # a finding that a condition causes is reported at the condition
WAITS = "r.obj.state == 'waiting' && r.obj.owner_id != r.sub.id"
DEPARTMENT = "    p.when == 'mine' && r.obj.department == r.sub.department || \\"


def _condition(expression: str, line: str) -> Edit:
    """Adds a condition `mine` and a rule that uses it. The finding is expected at that rule."""
    file = f"{line.split(', ')[2].split('.')[0]}s.csv"
    return both(add(file, line), add(M, f"    p.when == 'mine' && {expression} || \\"))


_OPEN = {
    "everything for guests": "p, guest, *, always, allow",
    "everything for users": "p, user, *, always, allow",
    "every view for guests": "p, guest, *.view, always, allow",
    "every order for guests": "p, guest, order.*, always, allow",
    "guests write orders": "p, guest, order.update, always, allow",
    "guests delete orders": "p, guest, order.delete, always, allow",
    "guests read the trail": "p, guest, audit.view, always, allow",
    "users read the trail": "p, user, audit.view, always, allow",
    "users see what is private": "p, user, *.view_private, always, allow",
    "users change every account": "p, user, user.update, always, allow",
    "always for own": "p, user, order.update, always, allow",
    "a person may do everything": f"p, user:{ID}, *, always, allow",
    "support does everything": "p, support, *, always, allow",
}
_NOTHING = {
    "an allow that another allows": "p, manager, order.view, always, allow",
    "an allow that a lower role has": "p, editor, order.create, own, allow",
    "own beside always": "p, support, order.view, own, allow",
    "a line twice": "p, support, order.view, always, allow",
    "a stricter line that stricter does not make it": "p, support, order.update, office_hours, allow",
    "a pattern that is covered": "p, manager, order.up*, always, allow",
    "a condition of guests for a role that is none": "p, support, order.view, anonymous, allow",
    "a share for guests": "p, guest, order.view, shared, allow",
    "own for guests": "p, guest, order.view, own, allow",
}
_DENIED = {
    "a deny for guests reaches all": "p, guest, order.view, always, deny",
    "a deny for guests by hours reaches all": "p, guest, order.view, office_hours, deny",
    "a deny for users reaches managers": "p, user, order.delete, always, deny",
    "a deny for support reaches owners": "p, support, order.refund, always, deny",
    "a deny of everything": "p, guest, *, always, deny",
    "a deny for administrators": "p, admin, user.*, always, deny",
    "a deny by department where none is known": "p, support, order.view, same_department, deny",
    "a deny of what is one's own, of rows without owner": "p, support, order.refund, own, deny",
    "a deny of what nobody may": "p, guest, order.delete, anonymous, deny",
    "a deny in the intranet, without an address": "p, support, order.refund, intranet, deny",
}
_NEVER = {
    "two states at once": "r.obj.status == 'draft' && r.obj.status == 'pending'",
    "&& for || of states": "(r.obj.status == 'draft' && r.obj.status == 'approved')",
    "&& for || of hours": "r.env.hour >= 20 && r.env.hour < 6",
    "the hour 25": "r.env.hour == 25",
    "the hour 24": "r.env.hour >= 24",
    "the weekday 0": "r.env.weekday == 0",
    "the weekday 8": "r.env.weekday > 7",
    "a state that orders do not have": "r.obj.status == 'shiped'",
    "a state in capitals": "r.obj.status == 'Draft'",
    "a device that there is not": "r.env.device == 'phone'",
    "a method in small letters": "r.env.method == 'get'",
    "a kind that there is not": "r.sub.kind == 'guests'",
    "a request that there is not": "r.env.request == 'update'",
    "an amount below nothing and above": "r.obj.total > 10000 && r.obj.total < 100",
    "an hour below nothing": "r.env.hour < -1",
    "a list of states that orders do not have": "(r.obj.status in['shiped', 'payed'])",
    "a state of a list that orders do not have": "(r.obj.status in['pending', 'shiped'])",
    "a weekday of a list": "(r.env.weekday in[0, 1])",
    "in a group and not in it": "inGroup(r.sub, 'atlas') && !inGroup(r.sub, 'atlas')",
    "after the end of a year and before its start":
        "r.env.now >= '2027-01-01T00:00:00.000000Z' && r.env.now < '2026-01-01T00:00:00.000000Z'",
    "younger than a day and older than two":
        "youngerThan(r.obj.created_at, 'P1D') && olderThan(r.obj.created_at, 'P2D')",
    "older than a day and in time to come": "olderThan(r.obj.created_at, 'P1D') && r.obj.created_at > r.env.now",
    "older than a year before it is a year on": "olderThan(r.obj.created_at, 'P365D') && "
        "r.obj.created_at > '2026-11-01T00:00:00.000000Z' && r.env.now < '2027-01-01T00:00:00.000000Z'",
    "a time, and a date two days on": "r.env.now < '2026-01-01T00:00:00.000000Z' && r.env.date > '2026-01-02'",
}
_ALWAYS = {
    "|| for && of hours": "(r.env.hour >= 8 || r.env.hour < 18)",
    "|| for && of states": "(r.obj.status != 'draft' || r.obj.status != 'pending')",
    "every weekday": "r.env.weekday <= 7",
    "every hour": "r.env.hour >= 0",
    "every kind": "(r.sub.kind == 'user' || r.sub.kind == 'service' || r.sub.kind == 'guest')",
    "itself": "r.obj.status == r.obj.status",
    "every hour from below nothing": "r.env.hour > -1",
    "every device of a list": "(r.env.device in['desktop', 'mobile', 'tablet', 'bot', 'other'])",
    "before a time and from it on":
        "(r.env.now < '2026-01-01T00:00:00.000000Z' || r.env.now >= '2026-01-01T00:00:00.000000Z')",
    "younger than two days or older than one":
        "(youngerThan(r.obj.created_at, 'P2D') || olderThan(r.obj.created_at, 'P1D'))",
    "in a group or not": "(inGroup(r.sub, 'atlas') || !inGroup(r.sub, 'atlas'))",
}
# The branch of a condition with a parameter, and the text behind the colon in its rule.
_PARAMETERS = {
    "a state that orders do not have": ("'state:' + r.obj.status", "state:shiped", "did you mean shipped?"),
    "a device that there is not": ("'by:' + r.env.device", "by:phone", "is never phone"),
    "a kind that the role is not": ("'kind:' + r.sub.kind", "kind:guest", "only callers without credentials"),
    "a state beside another": ("'state:' + r.obj.status && r.obj.status != 'pending'", "state:pending", "contradict"),
}
_CONDITIONS = {
    "own": ("p.when == 'own' && r.obj.owner_id == r.sub.id", "p.when == 'own' && r.obj.owner_id != r.sub.id"),
    "published": ("'published' && r.obj.status == 'published'", "'published' && r.obj.status != 'draft'"),
    "own_draft": ("r.sub.id && r.obj.status == 'draft'", "r.sub.id && r.obj.status == 'darft'"),
    "active": ("'active' && r.obj.status == 'active'", "'active' && r.obj.status == 'aktive'"),
    "anonymous": ("r.sub.kind == 'guest'", "r.sub.kind == 'anonymous'"),
    "office_hours": ("r.env.hour >= 8 && r.env.hour < 18", "r.env.hour >= 18 && r.env.hour < 8"),
}
_SCOPES = {
    "a read scope that writes": "p2, read:orders, order.update",
    "a read scope of everything": "p2, read:orders, *",
    "a read scope of its collection": "p2, read:orders, order.*",
    "a read scope that deletes": "p2, read:orders, order.delete",
    "a scope that is covered already": "p2, manage:orders, order.refund",
    "a scope line twice": "p2, read:orders, order.view",
}
# A condition, and the finding at its own line.
_COLUMNS = {
    "an amount below the least": ("r.obj.total < 0", "order.total is at least 0"),
    "every amount": ("r.obj.total >= 0", "always holds: order.total is at least 0"),
    "a version before the first": ("r.obj.version < 1", "is at least 1"),
    "the object's id for its owner's": ("r.obj.id == r.sub.id", "did you mean r.obj.owner_id?"),
    "the tenant for the owner": ("r.obj.tenant_id == r.sub.id", "is the id of a tenant"),
    "all but what has the caller's id": ("r.obj.id != r.sub.id", "always holds: r.obj.id is the object's own id"),
    "a state for a group": ("inGroup(r.sub, r.obj.status)", "for names of groups"),
    "until a time that has passed": ("r.env.now < '2026-01-01T00:00:00.000000Z'", "`mine` has expired"),
    "a day that has passed": ("r.env.date == '2026-10-03'", "`mine` has expired"),
    "days that have passed": ("(r.env.date in['2025-12-24', '2025-12-31'])", "`mine` has expired"),
    "from a time that has come": ("r.env.now >= '2026-01-01T00:00:00.000000Z'", "holds from now on"),
    "a day that has passed, or one's own": ("(r.env.date == '2026-10-03' || r.obj.owner_id == r.sub.id)",
                                            "has expired and never holds again"),
}
_METHODS = {
    "a change with GET": "r.env.method == 'GET'", "a change that reads": "r.env.request == 'read'",
    "an action with PUT": "(r.env.method in['PUT', 'PATCH'])", "all but what it uses": "r.env.method != 'POST'",
}
_UNSEEN = {
    "deleting messages that are not seen": ("contact.csv", "p, editor, contact.delete, always, allow"),
    "deleting others' jobs": ("jobs.csv", "p, support, job.retry, waits, allow"),
    "facts of rows that are not seen": ("admin.csv", "p, developer, audit.view_facts, always, allow"),
    "a person's messages": ("contact.csv", f"p, user:{ID}, contact.delete, always, allow"),
}
_GUARDED = {
    "private fields of everything": "p, support, *.view_private, always, allow",
    "everything reserved": "p, support, *.manage, always, allow",
    "private fields with each view": "p, developer, *.view*, always, allow",
    "everything reserved, by day": "p, support, *.manage, office_hours, allow",
    "everything reserved, for a person": f"p, user:{ID}, *.manage, always, allow",
}
_RESERVED = {
    "a write scope of its collection": "p2, write:orders, order.*",
    "a write scope that manages": "p2, write:orders, order.manage",
    "a scope of everything": "p2, manage:orders, *",
    "a scope of another collection": "p2, write:orders, product.update",
    "a scope of every view": "p2, read:orders, *.view",
}
_PROMISES = {
    "an exception that leaves nothing": ("never, guest, order.view, except order.*", "leave nothing"),
    "an exception of something else": ("never, guest, order.*, except product.view", "has nothing of"),
    "only everybody": ("only, guest, audit.view", "keeps nobody out"),
    "at most always": ("atmost, user, order.update, always", "forbids nothing"),
    "a promise of one's own to guests": ("always, guest, order.view, own", "promises nothing"),
    "never what is reserved for others": ("never, user, audit.view", "invariants.csv:2 (`only, owner, audit.*`) says"),
    "only users beside only owners": ("only, user, audit.*", "undoes invariants.csv:2 (`only, owner, audit.*`)"),
    "at most what nobody may": ("atmost, support, audit.view, office_hours", "says this already"),
    "a promise within one": ("always, admin, order.*, always", "says this already"),
}
_FILES: list[tuple[str, str, Edit, Told]] = [
    ("roles", "an inverted line", change(R, "g, support,   user", "g, guest,   support"), told()),
    ("roles", "support is an owner", add(R, "g, support, owner"), told()),
    ("roles", "every user is an administrator", add(R, "g, developer, admin"), told()),
    ("roles", "a person is an administrator", add(R, f"g, user:{ID}, admin"), told()),
    ("roles", "the link of support taken out", cut(R, "g, support, user"), told(at="g, owner,     support")),
    ("roles", "a link twice", add(R, "g, support, guest"), told()),
    ("taken out", "the login of guests", cut("session.csv", "p, guest, session.create, always, allow"),
     told(at="the file")),
    ("taken out", "the line of administrators", cut("admin.csv", "p, admin, *, always, allow"), told(at="the file")),
    ("taken out", "one's own profile", cut("session.csv", "p, user, profile.*, always, allow"), told(at="the file")),
    ("taken out", "a published article", cut(A, "p, guest, article.view, published, allow"), told(at="the file")),
    ("taken out", "every rule of a file", as_bytes("contact.csv", lambda _: b"# end\n"), told(at="the file")),
]
MISTAKES = [
    *(Mistake("opens", name, add(F, line), True, told()) for name, line in _OPEN.items()),
    *(Mistake("without effect", name, add(F, line), True, told()) for name, line in _NOTHING.items()),
    *(Mistake("denials", name, add(F, line), True, told()) for name, line in _DENIED.items()),
    *(Mistake("never", name, _condition(expression, "p, support, order.cancel, mine, allow"), True,
              told("ever", MINE, M)) for name, expression in _NEVER.items()),
    *(Mistake("always", name, _condition(expression, "p, support, order.cancel, mine, allow"), True,
              told("always holds", MINE, M)) for name, expression in _ALWAYS.items()),
    *(Mistake("parameter", name, both(add(F, f"p, support, order.cancel, {word}, allow"),
                                      add(M, f"    p.when == {branch} || \\")), True, told(phrase))
      for name, (branch, word, phrase) in _PARAMETERS.items()),
    *(Mistake("truth values", name, _condition(expression, "p, support, user.manage, mine, allow"), True,
              told(phrase, MINE, M))
      for name, expression, phrase in (("both at once", "r.obj.active == 1 && r.obj.active == 0", "ever"),
                                       ("either", "(r.obj.active == 1 || r.obj.active == 0)", "always holds"))),
    Mistake("denials", "a deny by groups, of rows that name none",
            _condition("inGroup(r.sub, r.obj.department)", "p, support, order.refund, mine, deny"), True,
            told("this denies nothing where department is missing")),
    Mistake("never", "another role than the line's",
            _condition("r.sub.role == 'guest'", "p, support, order.cancel, mine, allow"), True, told("can ever meet")),
    *(Mistake("shipped conditions", name, change(M, old, new), True, told())
      for name, (old, new) in _CONDITIONS.items()),
    *(Mistake("scopes", name, add(F, line), True, told()) for name, line in _SCOPES.items()),
    *(Mistake("scopes", name, add(F, line), True, told("a scope")) for name, line in _RESERVED.items()),
    *(Mistake("columns and times", name, _condition(expression, "p, support, order.cancel, mine, allow"), True,
              told(phrase, MINE, M)) for name, (expression, phrase) in _COLUMNS.items()),
    *(Mistake("methods", name, both(add(F, "p, support, order.cancel, mine, allow"),
                                    add(M, f"    p.when == 'mine' && {expression} || \\")), True,
              told("no request for `order.cancel` meets `mine`: its method is POST"))
      for name, expression in _METHODS.items()),
    *(Mistake("without its view", name, both(add(file, line), add(M, f"    p.when == 'waits' && {WAITS} || \\")), True,
              told("of no use here")) for name, (file, line) in _UNSEEN.items()),
    *(Mistake("guarded fields", name, add(F, line), True, told("the guarded fields of"))
      for name, line in _GUARDED.items()),
    *(Mistake("promises", name, new_file("invariants.csv", "always, admin, *, always", "only, owner, audit.*", line),
              True, told(phrase, line)) for name, (line, phrase) in _PROMISES.items()),
    Mistake("promises", "a line twice", new_file("invariants.csv", "always, admin, *, always", "only, owner, audit.*",
                                                 "only,owner,audit.*"), True,
            told("the same as invariants.csv:2", "only,owner")),
    Mistake("promises", "none to administrators", new_file("invariants.csv", "always, admin, user.*, always"), True,
            told("no invariant promises administrators", "the file")),
    *(Mistake(class_, name, edit, True, expects) for class_, name, edit, expects in _FILES),
    Mistake("denials", "a deny by a department that callers may lack",
            both(add(F, "p, support, order.view, mine, deny"), add(M, DEPARTMENT)), True, told()),
    Mistake("denials", "a deny of all but one's own, where a row has no owner",
            _condition("r.obj.owner_id != r.sub.id", "p, support, order.update, mine, deny"), True, told()),
]
