"""Misspelt words in CSV files."""

from __future__ import annotations

from .mistake import Mistake, add, both, change, error

F, R = "orders.csv", "roles.csv"
ID = "0199f3a0-0000-7000-8000-000000000001"
_LINES = {
    "permission": {
        "the plural of a resource": ("p, user, orders.view, own, allow", "did you mean order.view?"),
        "the plural of an action": ("p, user, order.views, own, allow", "did you mean order.view?"),
        "a colon for the dot": ("p, user, order:view, own, allow", "did you mean order.view?"),
        "a slash for the dot": ("p, user, order/view, own, allow", "did you mean order.view?"),
        "capitals": ("p, user, Order.View, own, allow", "did you mean order.view?"),
        "two letters swapped": ("p, user, order.veiw, own, allow", "did you mean order.view?"),
        "a letter forgotten": ("p, user, order.updte, own, allow", "did you mean order.update?"),
        "the parts swapped": ("p, user, view.order, own, allow", "did you mean order.view?"),
        "no underscore": ("p, user, order.viewprivate, own, allow", "did you mean order.view_private?"),
        "read for view": ("p, user, order.read, own, allow", "did you mean order.view?"),
        "edit for update": ("p, user, orders.edit, own, allow", "did you mean order.update?"),
        "remove for delete": ("p, user, order.remove, own, deny", "did you mean order.delete?"),
        "the resource alone": ("p, manager, order, always, allow", "did you mean order.*?"),
        "the action alone": ("p, manager, view, always, allow", "write it with its resource"),
        "two stars": ("p, manager, order.**, always, allow", "`*` alone stands for any"),
        "a question mark": ("p, manager, order.?iew, always, allow", "`*` alone stands for any"),
        "a list in braces": ("p, manager, order.{view,update}, always, allow", "`*` alone stands for any"),
        "a set in brackets": ("p, manager, order.[vu]*, always, allow", "`*` alone stands for any"),
        "a regular expression": ("p, manager, ^order.*, always, allow", "`*` alone stands for any"),
        "all for the star": ("p, admin, all, always, allow", "did you mean *?"),
        "an empty column": ("p, user, , own, allow", "the column is empty"),
        "an HTTP method": ("p, user, GET /api/orders, own, allow", "is no permission"),
        "a resource that there is not": ("p, user, invoice.view, own, allow", "is no permission"),
    },
    "who": {
        "a letter forgotten": ("p, manger, order.view, always, allow", "did you mean manager?"),
        "the plural": ("p, users, order.view, own, allow", "did you mean user?"),
        "capitals": ("p, Editor, order.view, always, allow", "did you mean editor?"),
        "the word role before it": ("p, role:editor, order.view, always, allow", "did you mean editor?"),
        "a star": ("p, *, order.view, own, allow", "write guest"),
        "everyone": ("p, everyone, order.view, own, allow", "write guest"),
        "an e-mail": ("p, ann@example.org, order.view, always, allow", "`gatepost user list` shows the id"),
        "a name for an id": ("p, user:Ann, order.view, always, allow", "`gatepost user list` shows the id"),
        "an e-mail behind user:": ("p, user:ann@example.org, order.view, always, deny", "`gatepost user list`"),
        "an id in capitals": (f"p, user:{ID.upper()}, order.view, always, deny", f"write user:{ID}"),
        "a blank before the id": (f"p, user: {ID}, order.view, always, deny", f"write user:{ID}"),
        "an id without user:": (f"p, {ID}, order.view, always, deny", f"write user:{ID}"),
        "half an id": ("p, user:0199f3a0-0000, order.view, always, deny", "`gatepost user list`"),
        "a group": ("p, group:sales, order.view, always, allow", "is neither a role nor user:<id>"),
        "an empty column": ("p, , order.view, own, allow", "is neither a role nor user:<id>"),
    },
    "condition": {
        "a letter forgotten": ("p, user, order.view, publshed, allow", "did you mean published?"),
        "a letter too much": ("p, user, order.view, allways, allow", "did you mean always?"),
        "a blank for the underscore": ("p, user, order.view, own draft, allow", "did you mean own_draft?"),
        "a dash for the underscore": ("p, user, order.view, own-draft, allow", "did you mean own_draft?"),
        "capitals": ("p, user, order.view, OWN, allow", "did you mean own?"),
        "an empty column": ("p, user, order.view, , allow", "write always if there is none"),
        "a star": ("p, user, order.view, *, allow", "write always if there is none"),
        "an expression": ("p, user, order.view, r.obj.total < 5, allow", "an expression belongs in model.conf"),
        "a word that no branch has": ("p, user, order.view, weekend, allow", "is no condition; known are active"),
    },
    "effect": {
        "a capital": ("p, user, order.view, own, Allow", "did you mean allow?"),
        "alow": ("p, user, order.view, own, alow", "did you mean allow?"),
        "dney": ("p, user, order.view, own, dney", "did you mean deny?"),
        "permit": ("p, user, order.view, own, permit", "did you mean allow?"),
        "forbid": ("p, user, order.view, own, forbid", "did you mean deny?"),
        "true": ("p, user, order.view, own, true", "did you mean allow?"),
        "an empty column": ("p, user, order.view, own,", "is no effect; write allow or deny"),
    },
    "scope": {
        "the singular": ("p2, read:order, order.view", "did you mean read:orders?"),
        "a dot for the colon": ("p2, read.orders, order.view", "did you mean read:orders?"),
        "the parts swapped": ("p2, orders:read, order.view", "did you mean read:orders?"),
        "a misspelt verb": ("p2, wirte:orders, order.view", "did you mean write:orders?"),
        "capitals": ("p2, Read:Orders, order.view", "did you mean read:orders?"),
        "a misspelt permission": ("p2, read:orders, order.veiw", "did you mean order.view?"),
        "a collection that there is not": ("p2, read:invoices, order.view", "invoices is unknown"),
    },
}
_LANGUAGE = "    p.when == 'language:' + r.obj.language || \\"
_PARAMETERS = {
    "none": ("p, user, article.export, language, allow", "`language` takes a parameter: write language:"),
    "none behind the colon": ("p, user, article.export, language:, allow", "`language` takes a parameter"),
    "a blank behind the colon": ("p, user, article.export, language: de, allow", "directly behind it, not ` de`"),
    "an equals sign": ("p, user, article.export, language=de, allow", "did you mean language:?"),
    "in brackets": ("p, user, article.export, language(de), allow", "is no condition"),
    "in quotes": ("p, user, article.export, language:'de', allow", "quotes become part of the value"),
    "a star": ("p, user, article.export, language:*, allow", "not `*`"),
    "two of them": ("p, user, article.export, language:de|en, allow", "not `de|en`"),
    "a letter with a mark": ("p, user, article.export, language:français, allow", "write plain ASCII letters"),
    "a missing value": ("p, user, article.export, language:null, allow", "not `null`"),
    "a misspelt word": ("p, user, article.export, langauge:de, allow", "did you mean language:"),
    "a word that takes none": ("p, user, article.export, own:de, allow", "`own` takes no parameter; write own"),
    "a permission without the column": ("p, user, order.export, language:de, allow", "order has no column language"),
}
MISTAKES = [
    *(Mistake("parameter", name, both(add("articles.csv", line), add("model.conf", _LANGUAGE)), True, error(phrase))
      for name, (line, phrase) in _PARAMETERS.items()),
    *(Mistake(class_, name, add(F, line), True, error(phrase))
      for class_, rows in _LINES.items() for name, (line, phrase) in rows.items()),
    Mistake("who", "a letter swapped in a role that is inherited",
            change(R, "g, support,   user", "g, support,   uesr"), True, error("did you mean user?")),
    Mistake("who", "a letter forgotten in a role that inherits", change(R, "g, moderator, user", "g, modrator, user"),
            True, error("did you mean moderator?")),
    Mistake("who", "a person on the right of a role", add(R, f"g, moderator, user:{ID}"), True, error("is no role")),
    Mistake("who", "a permission inherited", add(R, "g, support, order.view"), True, error("is no role")),
]
