"""Lines for other models of Casbin, and comments and separators of other formats."""

from __future__ import annotations

from .mistake import Mistake, add, both, change, error, new_file, warning

F, R, INVARIANTS = "orders.csv", "roles.csv", "invariants.csv"
APART, EXPRESSION, PATH = "write order.update, always, allow", "an expression belongs in model.conf", "a path is none"
_LINES = {
    "object and action": {
        "with an effect": ("p, support, order, update, allow", APART),
        "without an effect": ("p, support, order, update", APART),
        "of a user who is named": ("p, alice, order, update", APART),
        "in the plural, with another word": ("p, support, orders, edit, allow", APART),
        "a deny": ("p, support, order, read, deny", "write order.view, always, deny"),
        "a misspelt deny": ("p, support, order, read, dney", "write order.view, always"),
        "with a condition": ("p, support, order, update, own, allow", "write order.update, own, allow"),
        "with a misspelt condition": ("p, support, order, update, own_drft, allow",
                                      "write order.update, the condition that is meant, allow"),
        "with a condition alone": ("p, support, order, update, department",
                                   "write order.update, the condition that is meant, allow or deny"),
        "any action": ("p, support, order, *, allow", "write order.*, always, allow"),
        "any action of anything": ("p, admin, *, *", "write *, always, allow"),
        "unknown ones": ("p, alice, data1, read", "a permission is one column, <resource>.<action>"),
        "unknown ones with an effect": ("p, support, data1, read, allow",
                                        "a permission is one column, <resource>.<action>"),
        "unknown ones with a domain": ("p, support, tenant1, data1, read",
                                       "a permission is one column, <resource>.<action>"),
        "with a domain": ("p, support, tenant1, order, update", "no column names a domain"),
        "with a domain and an effect": ("p, support, tenant1, order, update, allow", APART),
    },
    "paths": {
        "with a method": ("p, support, /api/orders, GET, allow", "write order.view, always, allow"),
        "with a method, without an effect": ("p, support, /api/orders, POST", "write order.create, always, allow"),
        "of an action": ("p, support, /api/orders/:id/cancel, POST", "write order.cancel, always, allow"),
        "of one object": ("p, support, /api/orders/{id}, DELETE, deny", "write order.delete, always, deny"),
        "as a permission": ("p, support, /api/orders/*, always, allow", PATH),
        "behind a method": ("p, support, PATCH /api/orders/*, always, allow", "such as order.update"),
        "of nothing": ("p, support, /data1, always, allow", PATH),
    },
    "expressions": {
        "in the condition column": ("p, support, order.view, r.obj.total < 5, allow", EXPRESSION),
        "with quotes": ("p, support, order.view, r.obj.status == 'draft', allow", EXPRESSION),
        "with a comma": ("p, support, order.view, inGroup(r.sub, 'atlas'), allow", EXPRESSION),
        "without an effect": ("p, support, order.view, r.obj.total > 5", EXPRESSION),
        "in the column of the caller": ("p, r.sub.age > 18, order.view, always, allow", EXPRESSION),
        "without a root": ("p, support, order.view, total > 5 && total < 9, allow", EXPRESSION),
    },
    "who": {
        "a star": ("p, *, order.view, always, allow", "write guest for every caller, user for those who are signed in"),
        "a group of an organisation": ("p, org:team, order.view, always, allow", "inGroup(r.sub, 'name')"),
        "a department": ("p, department:sales, order.view, always, allow", "r.sub.department == 'name'"),
        "a user's name": ("p, alice, order.view, always, allow", "`gatepost user list` shows the id of a user"),
        "a placeholder": ("p, user:<id>, order.view, always, allow", "`gatepost user list` shows the id of a user"),
        "a user's name with a role": ("g, alice, support", "`gatepost user list` shows the id of a user"),
        "a role in a domain": ("g, support, user, tenant1", "no column names a domain"),
        "roles of resources": ("g2, order, folder", "a line begins with p, p2 or g"),
    },
    "comments": {
        "a semicolon": ("; who sees orders", "a comment begins with #"),
        "a semicolon before a rule": ("; p, support, order.view, always, allow", "a comment begins with #"),
        "a semicolon behind a rule": ("p, support, order.view, always, deny ; note", "comments on lines of their own"),
        "two strokes behind a rule": ("p, support, order.view, always, deny // note", "comments on lines of their own"),
        "other letters behind a rule": ("p, support, order.view, always, deny # für Käufer",
                                        "comments on lines of their own"),
        "quotes behind a rule": ("p, support, order.view, always, deny # don't", "comments on lines of their own"),
    },
    "commas": {
        "none": ("p user order.view own allow", "columns are divided by commas"),
        "one": ("p, user order.view own allow", "a comma is missing in the column who"),
        "words of a sentence": ("p, who sees orders, and when", "takes 4 columns"),
        "a sentence that begins like a line": ("g is for roles, p for rules", "a line begins with p, p2 or g"),
    },
}
_INVARIANTS = {
    "semicolons": ("never; guest; order.delete", "not by semicolons"),
    "no commas": ("never guest order.delete", "columns are divided by commas"),
    "a misspelt word": ("nevr, guest, order.delete", "did you mean never?"),
    "a rule": ("p, user, order.view, own, allow", "rules stand in other files"),
    "a comment of another format": ("; guests delete nothing", "a comment begins with #"),
    "a comment behind": ("never, guest, order.delete # für Gäste", "comments on lines of their own"),
    "a letter with a mark": ("never, gäste, order.delete", "write plain ASCII letters"),
    "quotes": ('"never", "guest", "order.delete"', "leave them out"),
}
MISTAKES = [
    *(Mistake(f"casbin, {class_}", name, add(F, line), True, error(phrase))
      for class_, rows in _LINES.items() for name, (line, phrase) in rows.items()),
    *(Mistake("casbin, invariants", name, new_file(INVARIANTS, line), True, error(phrase, at=line))
      for name, (line, phrase) in _INVARIANTS.items()),
    Mistake("casbin, who", "a user's name, as a role of roles.csv", add(R, "g, alice, admin"), True,
            warning("if alice is a user, write user:<id>")),
    Mistake("casbin, who", "a user's name that inherits nothing known", add(R, "g, alice, bob"), True,
            error("`bob` is no role")),
    Mistake("casbin, who", "a group of an organisation with a role", add(R, "g, org:team, admin"), True,
            error("inGroup(r.sub, 'name')")),
    Mistake("casbin, who", "a line of roles that other lines name in vain",
            both(add(R, "g, support, agent"), change(F, "p, support, order.refund", "p, agent, order.refund")), True,
            error("`agent` is no role; declare it in roles.csv")),
]
