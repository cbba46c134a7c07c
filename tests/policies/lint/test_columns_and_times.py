"""The lint warns of comparisons that are always true or false, by their column or by the current time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from policies.lint.warnings import warnings
from tests.policies.generated import assembled
from tests.policies.lint.test_warnings import LINKS, TODAY, VIEWS, model_with, said

NOW = "2026-11-18T10:00:00.000000Z"
# A condition, the permission of the rule that names it, and the expected warning.
Row = tuple[str, str, str | None]


def faults(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Returns the conditions with other warnings than the expected one, once and at its own line."""
    wrong = {}
    for branch, permission, message in rows:
        text = model_with(f"'mine' && {branch}")
        place = next(number for number, row in enumerate(text.splitlines(), 1) if "'mine'" in row)
        found = said(VIEWS, f"p, support, {permission}, mine, allow", text=text)
        told = [one for one in found if message is not None and message in one]
        if len(found) != (message is not None) or not all(
                one.startswith(f"model.conf:{place}: warning: ") for one in told) or len(told) != len(found):
            wrong[f"{branch} for {permission}"] = found
    return wrong


def test_a_number_beyond_the_bounds_of_its_column_is_told() -> None:
    assert faults([
        ("r.obj.total < 0", "order.update", "`r.obj.total < 0` never holds: order.total is at least 0"),
        ("r.obj.total >= 0", "order.update", "always holds: order.total is at least 0"),
        ("r.obj.total != -1", "order.update", "always holds: order.total is at least 0"),
        ("(r.obj.total in[-1, 0])", "order.update", "`r.obj.total == -1` never holds: order.total is at least 0"),
        ("r.obj.total > 0", "order.update", None),
        ("r.obj.total > 1000000000000", "order.update", None),  # no greatest sum is declared
        ("r.obj.price > 1000000000000", "product.update", "never holds: product.price is at most 1000000000000"),
        ("r.obj.stock <= 1000000000", "product.update", "always holds: product.stock is at most 1000000000"),
        ("r.obj.stock < 1000000000", "product.update", None),
        ("r.obj.version == 0", "order.update", "is at least 1"),
        ("r.obj.version == 1", "order.update", None),
        ("r.obj.version == 0", "job.retry", None),  # no answer shows it, so nothing about it is declared
    ]) == {}


def test_an_address_in_a_spelling_that_is_not_stored_is_told() -> None:
    assert faults([
        ("r.obj.email == 'Noor@Example.org'", "user.update", "`r.obj.email == 'Noor@Example.org'` never holds: it is "
         "stored as 'noor@example.org'; write that"),
        ("r.obj.email != 'noor@xn--mnchen-3ya.de'", "contact.delete", "always holds: it is stored as "
         "'noor@münchen.de'; write that"),
        ("(r.obj.email in['a@b.org', 'B@b.org'])", "user.update", "`r.obj.email == 'B@b.org'` never holds"),
        ("r.obj.email == 'noor@münchen.de'", "user.update", None),
        ("r.obj.email == 'a@b..org'", "user.update", None),  # some may have had it before
        ("r.obj.name == 'Noor@Example.org'", "user.update", None),
    ]) == {}


def test_ids_of_different_tables_are_told() -> None:
    assert faults([
        ("r.obj.id == r.sub.id", "order.update", "never holds: r.obj.id is the object's own id, and r.sub.id is the id "
         "of a user; did you mean r.obj.owner_id?"),
        ("r.obj.id != r.sub.id", "order.update", "always holds: r.obj.id is the object's own id"),
        ("r.obj.category_id == r.obj.owner_id", "product.update", "r.obj.category_id is the id of a category, and "
         "r.obj.owner_id is the id of a user; compare ids of one table"),
        ("r.obj.owner_id == r.sub.tenant_id", "order.update", "r.sub.tenant_id is the id of a tenant; did you mean "
         "r.obj.tenant_id?"),
        ("r.obj.id == r.sub.id", "user.update", None),
        ("r.obj.id == r.sub.id", "*.delete", None),  # it holds of users
        ("r.obj.parent_id == r.obj.id", "category.update", None),
        ("r.obj.owner_id == r.sub.id", "order.update", None),
        ("r.obj.department == r.sub.department", "order.update", None),
    ]) == {}


def test_where_a_condition_fits_some_lines_the_others_are_told_themselves() -> None:
    text = model_with("'mine' && r.obj.id == r.sub.id")
    found = said(VIEWS, "p, support, user.update, mine, allow", "p, support, order.update, mine, allow", text=text)
    assert [one.partition(" never")[0] for one in found] == ["rules.csv:3: warning: `r.obj.id == r.sub.id`"]


def test_a_state_that_is_taken_for_a_group_is_told() -> None:
    assert faults([
        ("inGroup(r.sub, r.obj.status)", "product.update",
         "takes active, archived and draft for names of groups; name a column that holds a group"),
        ("inGroup(r.sub, r.obj.department)", "product.update", None),
        ("inGroup(r.sub, r.obj.article_status)", "comment.update", None),  # its states are not declared
    ]) == {}


def test_a_time_that_has_passed_is_told_at_its_condition() -> None:
    assert faults((branch, "order.update", message) for branch, message in (
        (f"r.env.now < '{NOW}'", f"`mine` has expired: `r.env.now < '{NOW}'` never holds again; take it out"),
        (f"r.env.now <= '{NOW}'", None),
        ("r.env.now < '2026-11-18T10:00:00.000001Z'", None),
        ("r.env.now == '2026-11-18T09:59:59.999999Z'", "`mine` has expired"),
        ("r.env.date <= '2026-11-16' && r.obj.owner_id == r.sub.id", "`mine` has expired: `r.env.date <= '2026-"),
        ("r.env.date <= '2026-11-17'", None),  # in the last time zone it is the 17th still
        ("(r.env.date in['2025-12-24', '2025-12-31'])", "`mine` has expired"),
        ("(r.env.date in['2025-12-24', '2026-12-24'])", None),
        ("r.env.now >= '2026-01-01T00:00:00.000000Z' && r.obj.owner_id == r.sub.id",
         "`r.env.now >= '2026-01-01T00:00:00.000000Z'` was reached and always holds from now on; take it out"),
        ("r.env.now >= '2026-01-01T00:00:00.000000Z' && r.env.now < '2027-01-01T00:00:00.000000Z'", None),
        ("r.env.now >= '2025-01-01T00:00:00.000000Z' && r.env.now < '2026-01-01T00:00:00.000000Z'", "`mine` has "),
        ("r.env.now >= '2027-01-01T00:00:00.000000Z'", None),
        ("r.env.date != '2026-01-01'", "holds from now on"),
        ("(r.env.date < '2026-01-01' || r.obj.owner_id == r.sub.id)",
         "`r.env.date < '2026-01-01'` has expired and never holds again"),
        ("!(r.env.date < '2026-01-01')", "`r.env.date < '2026-01-01'` has expired and never holds again"),
        ("r.obj.created_at < '2026-01-01T00:00:00.000000Z'", None),  # there are old rows
        ("(r.env.date < '2026-01-01' || r.env.date >= '2026-01-01')", "`mine` always holds"),
    )) == {}


def test_a_time_passes_while_the_policy_stays_the_same() -> None:
    text = model_with(f"'mine' && r.env.now < '{NOW}'")
    policy = assembled([VIEWS, "p, support, order.update, mine, allow"], LINKS, text)
    spoken = [any("`mine` has expired" in one.message for one in warnings(policy, at=TODAY + timedelta(seconds=after)))
              for after in (-1, 0, 1)]
    assert spoken == [False, True, True]


def test_a_day_that_a_line_says_behind_a_word_is_told_at_the_line() -> None:
    rules = [f"p, support, order.update, on:{day}, allow" for day in ("2026-10-03", "2026-12-24")]
    found = said(VIEWS, *rules, text=model_with("'on:' + r.env.date"))
    assert [one.partition(": `r.env")[0] for one in found] == ["rules.csv:2: warning: `on:2026-10-03` has expired"]
