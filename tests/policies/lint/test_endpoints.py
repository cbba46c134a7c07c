"""The lint warns of rules that no request can use: by its method, or because no caller may view their objects."""

from __future__ import annotations

from dataclasses import replace

from policies.lint.warnings import warnings
from policies.syntax.vocabulary import Vocabulary
from tests.policies.generated import assembled
from tests.policies.lint.test_warnings import ANN, EVERY_ROLE, VIEWS, model_with, said
from tests.policies.shipped_vocabulary import VOCABULARY

METHODS = model_with(*(f"'{word}' && {branch}" for word, branch in {
    "by_get": "r.env.method == 'GET'", "reads": "r.env.request == 'read'", "by_patch": "r.env.method == 'PATCH'",
    "by_post": "r.env.method == 'POST'", "writes": "r.env.request == 'write'", "by_head": "r.env.method == 'HEAD'",
    "odd": "(r.env.method == 'GET' || r.obj.owner_id == r.sub.id)"}.items()))
# Rules for viewing contact messages, and for actions on them.
SEES, DELETES = "p, editor, contact.view, office_hours, allow", "p, editor, contact.delete, always, allow"


def test_a_method_that_no_request_for_a_permission_has_is_told() -> None:
    faults = {}
    for asked, message in (
        ("order.update, by_get", "no request for `order.update` meets `by_get`: its method is PATCH or PUT"),
        ("order.update, reads", "its method is PATCH or PUT"),
        ("order.update, by_post", "its method is PATCH or PUT"),
        ("order.update, by_patch", None),
        ("order.update, odd", None),
        ("article.update, by_post", None),  # an import changes articles
        ("order.ship, by_patch", "its method is POST"),
        ("order.export, writes", "its method is GET or HEAD"),
        ("order.export, by_head", None),
        ("order.share, by_get", None),
        ("order.share, by_post", "its method is DELETE or GET or HEAD or PUT"),
        ("*.ship, by_get", "no request for `*.ship` meets `by_get`"),
        ("order.*p*, by_get", None),  # an export is among them
        ("order.view_private, by_post", None),  # a write shows what it wrote
        ("order.manage, by_get", None),  # no endpoint needs it alone
    ):
        found = said(VIEWS, f"p, support, {asked}, allow", text=METHODS)
        told = [one for one in found if one.startswith("rules.csv:2: warning: ") and message and message in one]
        if len(found) != len(told) or len(told) != (message is not None):
            faults[asked] = found
    assert faults == {}


def test_a_denial_by_such_a_method_is_told_as_well() -> None:
    rules = (VIEWS, "p, support, order.ship, always, allow", "p, support, order.ship, by_get, deny")
    assert said(*rules, text=METHODS) == [
        "rules.csv:3: warning: no request for `order.ship` meets `by_get`: its method is POST; correct the condition, "
        "or take the rule out"]


def test_of_endpoints_that_are_not_known_nothing_is_told() -> None:
    unknown = Vocabulary({name: replace(resource, methods={}, on_viewed=frozenset())
                          for name, resource in VOCABULARY.resources.items()})
    rules = [VIEWS, "p, support, order.update, by_get, allow", DELETES]
    found = warnings(assembled(rules, EVERY_ROLE, METHODS, unknown))
    assert not any("no request" in one.message or "of no use" in one.message for one in found)


def test_what_nobody_may_view_who_gains_it_is_told() -> None:
    text = model_with("'others' && r.obj.owner_id != r.sub.id", "'draft' && r.obj.status == 'draft'",
                      "'by_day' && r.env.hour > 8", "'by_night' && r.env.hour < 6")
    links = ["g, user, guest", "g, editor, support", *(f"g, {role}, user" for role in (
        "support", "moderator", "manager", "developer", "owner")), "g, admin, owner"]
    faults = {}
    for rules, message in (
        ([DELETES], "rules.csv:1: warning: contact.delete is of no use here: nobody who gets this by the rule has "
                    "contact.view for the same object; give that, too"),
        ([SEES, DELETES], None),
        (["p, guest, contact.view, office_hours, allow", DELETES], None),
        (["p, editor, contact.view, by_day, allow", "p, editor, contact.delete, by_night, allow"],
         "rules.csv:2: warning: contact.delete is of no use here"),
        (["p, user, order.view, own, allow", "p, user, order.update, others, allow"],
         "rules.csv:2: warning: order.update is of no use here"),
        (["p, user, article.view, published, allow", "p, user, article.update, own_draft, allow"],
         "rules.csv:2: warning: article.update is of no use here"),
        (["p, user, article.view, published, allow", "p, user, article.update, own, allow"], None),
        (["p, user, article.view, own, allow", "p, user, article.view, draft, deny",
          "p, user, article.update, own_draft, allow"], "rules.csv:3: warning: article.update is of no use here"),
        (["p, user, order.view, shared, allow", "p, user, order.update, shared, allow"], None),
        (["p, user, order.view, shared, allow", "p, user, order.ship, always, allow"], None),  # a share to read it
        (["p, user, order.view, shared, allow", "p, guest, order.export, anonymous, allow"],
         "rules.csv:2: warning: order.export is of no use here"),
        (["p, support, audit.view_facts, always, allow"], "rules.csv:1: warning: audit.view_facts is of no use here"),
        (["p, user, order.create, always, allow"], None),  # there is no row yet
        (["p, user, user.register, always, allow"], None),
        (["p, user, profile.update, always, allow"], None),  # one's own account needs no view
        (["p, support, comment.view, always, allow", "p, support, *.export, always, allow"],
         "article.export, category.export, order.export and 3 more are of no use here"),
        ([f"p, {ANN}, contact.delete, always, allow"], "rules.csv:1: warning: contact.delete is of no use here"),
        ([f"p, {ANN}, contact.view, by_day, allow", f"p, {ANN}, contact.delete, always, allow"], None),
        # A user may have a role that views it.
        (["p, manager, contact.view, always, allow", f"p, {ANN}, contact.delete, always, allow"], None),
        # A role may have one half of the permissions of another.
        (["p, support, contact.delete, always, allow", SEES], None),
    ):
        found = [one for one in said(*rules, text=text, links=links) if "of no use" in one]
        if len(found) != (message is not None) or not all(message and message in one for one in found):
            faults[" | ".join(rules)] = found
    assert faults == {}


def test_a_person_who_was_lent_a_role_may_view_by_a_line_of_their_own() -> None:
    rules = ["p, support, contact.delete, always, allow", f"p, {ANN}, contact.view, always, allow"]
    for links, number in ((EVERY_ROLE, 1), ([*EVERY_ROLE, f"g, {ANN}, support"], 0)):
        assert len([one for one in said(*rules, links=links) if "of no use" in one]) == number
