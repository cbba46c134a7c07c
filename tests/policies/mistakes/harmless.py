"""Edits that administrators may make, and that must not be errors."""

from __future__ import annotations

from .mistake import Edit, Mistake, Told, add, as_bytes, both, branch, change, cut, everywhere, new_file, warning

M, F, P, R = "model.conf", "orders.csv", "products.csv", "roles.csv"
ID = "0199f3a0-0000-7000-8000-000000000001"


def _reordered(content: bytes) -> bytes:
    *rows, end = content.decode().splitlines()
    return "\n".join([*reversed(rows), end, ""]).encode()


def _tight(content: bytes) -> bytes:
    rows = [row if row.startswith("#") else row.replace(" ", "") for row in content.decode().splitlines()]
    return "\n".join([*rows, ""]).encode()


_ROWS: list[tuple[str, str, Edit, Told | None]] = [
    ("form", "the lines in another order", as_bytes(F, _reordered), None),
    ("form", "roles in another order", as_bytes(R, _reordered), None),
    ("form", "no blanks", as_bytes(F, _tight), None),
    ("form", "blank lines", change(F, "p, support, order.view", "\n\np, support, order.view"), None),
    ("form", "blank lines below the last one", change(F, "# end\n", "# end\n\n\n"), None),
    ("form", "blanks behind the last line", change(F, "# end\n", "# end  \n"), None),
    ("form", "no line break at the end", change(F, "# end\n", "# end"), None),
    ("form", "line ends of Windows", as_bytes(F, lambda content: content.replace(b"\n", b"\r\n")), None),
    ("form", "line ends of Windows in model.conf", as_bytes(M, lambda content: content.replace(b"\n", b"\r\n")), None),
    ("form", "line ends of Windows in roles.csv", as_bytes(R, lambda content: content.replace(b"\n", b"\r\n")), None),
    ("form", "line ends of Windows in some lines",
     as_bytes(F, lambda content: content.replace(b", allow\n", b", allow\r\n")), None),
    ("form", "tabulators between columns", everywhere(F, ", ", ",\t"), None),
    ("form", "blanks before lines", everywhere(F, "p, user", "  p, user"), None),
    ("form", "blanks behind lines", everywhere(F, ", allow", ", allow   "), None),
    ("form", "a comment", add(F, "# Ann asked for this."), None),
    ("form", "a comment in another language", add(F, "# Für die Käufer – “Bestellungen” …"), None),
    ("form", "a comment in another alphabet", add(F, "# Заказы, 注文"), None),
    ("form", "a comment in another language in roles.csv", add(R, "# Wer darf was?"), None),
    ("form", "a comment in another language in model.conf",
     change(M, "[request_definition]", "# Für die Käufer; „nur“ lesend\n[request_definition]"), None),
    ("form", "a comment that shows a rule of another Casbin", add(F, "# p, alice, data1, read; // or r.obj.x == 'y'"),
     None),
    ("form", "blanks before a comment", add(F, "   # Ann asked for this."), None),
    ("form", "a comment with a no-break space", add(F, "# Seite\u00a0 3"), None),
    ("form", "a comment with the commas of a spreadsheet", add(F, "# Orders,,,,"), None),
    ("form", "a line commented out and back in", add(F, "#p, guest, order.view, always, allow"), None),
    ("form", "comments taken out",
     cut(F, "# What a scoped token may use of it; its owner must be allowed to as well."), None),
    ("form", "a comment above the sections", change(M, "[request_definition]", "# ours\n[request_definition]"), None),
    ("matcher", "the branches in another order",
     change(M, "    p.when == 'always' || \\\n    p.when == 'own' && r.obj.owner_id == r.sub.id || \\\n",
            "    p.when == 'own' && r.obj.owner_id == r.sub.id || \\\n    p.when == 'always' || \\\n"), None),
    ("matcher", "double quotes", everywhere(M, "'", '"'), None),
    ("matcher", "on one line", everywhere(M, "\\\n", " "), None),
    ("matcher", "brackets around a branch",
     change(M, "p.when == 'active' && r.obj.status == 'active'", "(p.when == 'active' && (r.obj.status == 'active'))"),
     None),
    ("matcher", "the sides of a comparison swapped",
     change(M, "r.obj.status == 'active'", "'active' == r.obj.status"), None),
    ("matcher", "a condition renamed everywhere",
     both(change(P, "active, allow", "on_sale, allow"), change(M, "p.when == 'active'", "p.when == 'on_sale'")),
     None),
    ("matcher", "a condition that no line uses", add(M, "    p.when == 'late' && r.env.hour > 20 || \\"), None),
    ("matcher", "another network", change(M, "10.0.0.0/8", "192.168.0.0/16"), None),
    ("matcher", "a network of IPv6", change(M, "'10.0.0.0/8'", "'2001:db8::/32'"), None),
    ("matcher", "other hours", change(M, "r.env.hour < 18", "r.env.hour < 20"), None),
    ("matcher", "a list", branch("(r.obj.status in['pending', 'approved'])"), None),
    ("matcher", "a list of one, in double quotes", branch('(r.obj.status in["pending"])'), None),
    ("matcher", "a list of numbers", branch("(r.obj.total in[-1, 0, 1])"), None),
    ("matcher", "a group", branch("inGroup(r.sub, 'atlas')"), None),
    ("matcher", "a group with letters that have a mark", branch("inGroup(r.sub, 'Geschäftsführung')"), None),
    ("matcher", "a department with a letter that has a mark", branch("r.sub.department == 'Köln'"), None),
    ("matcher", "all but a group", branch("!inGroup(r.sub, 'atlas')"), None),
    ("matcher", "the group that a column names", branch("inGroup(r.sub, r.obj.department)"), None),
    ("matcher", "the time", branch("r.obj.created_at <= r.env.now"), None),
    ("matcher", "until a time", branch("r.env.now < '2027-01-01T00:00:00.000000Z'"), None),
    ("matcher", "a negative number", branch("r.obj.total > -5"), None),
    ("matcher", "a truth value", add(M, "    p.when == 'enabled' && r.obj.active == 1 || \\"), None),
    ("matcher", "the opposite of a truth value", add(M, "    p.when == 'disabled' && 0 == r.obj.active || \\"), None),
    ("matcher", "a parameter", both(add(F, "p, user, order.export, state:pending, allow"),
                                    add(M, "    p.when == 'state:' + r.obj.status || \\")), None),
    ("matcher", "a parameter that no line says", add(M, "    p.when == 'desk:' + r.sub.department || \\"), None),
    ("rules", "a line twice", add(F, "p, support, order.view, always, allow"), warning("the same as orders.csv")),
    ("rules", "a role line twice", add(R, "g, support, user"), None),
    ("rules", "a stricter condition",
     change(F, "order.refund,       always, allow", "order.refund, office_hours, allow"), None),
    ("rules", "a line in another file", both(cut(F, "p, support, order.view, always, allow"),
                                             add("admin.csv", "p, support, order.view, always, allow")), None),
    ("rules", "a file of one's own", new_file("sales.csv", "p, support, order.export, always, allow"), None),
    ("rules", "an exception of one person", add(F, f"p, user:{ID}, order.export, own, allow"), None),
    ("rules", "a second role of one person", add(R, f"g, user:{ID}, editor"), None),
    ("rules", "a denial of guests alone", add(F, "p, guest, order.view, anonymous, deny"), None),
    ("rules", "a denial by hours", add(F, "p, support, order.refund, office_hours, deny"), None),
    ("rules", "a pattern inside an action", add(F, "p, support, order.ex*, always, allow"), None),
    ("rules", "a scope of its own", add(F, "p2, manage:orders, product.view"), None),
    ("rules", "a narrower scope", cut(F, "p2, write:orders, order.delete"), None),
]
MISTAKES = [Mistake(class_, name, edit, False, expects) for class_, name, edit, expects in _ROWS]
