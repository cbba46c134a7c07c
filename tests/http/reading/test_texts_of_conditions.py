"""Departments and groups with letters that have a mark: a condition names them, for one row and for a list."""

from __future__ import annotations

import pytest

from tests.apps import log_in

pytestmark = pytest.mark.both_databases

CONDITIONS = (
    "    p.when == 'in_koeln' && r.obj.department == 'Köln' && r.sub.department != 'Zürich' || \\\n"
    "    p.when == 'for_lodz' && inGroup(r.sub, 'Łódź 1') && (r.obj.department in['Málaga', 'Straße']) || \\\n"
)
LINES = {"articles.csv": "p, user, article.view, in_koeln, allow\np, user, article.view, for_lodz, allow\n"
                         "p, user, article.view_private, always, allow\np, admin, *, always, allow"}


def test_a_row_and_a_list_are_decided_by_texts_with_marks(given, under):
    app = under(CONDITIONS, LINES, only=True)
    departments = ("Köln", "Koln", "Ko\u0308ln", "KÖLN", "Málaga", "Straße", "Strasse", None)
    rows = {name: given.article("draft", department=name) for name in departments}
    callers = {
        ("Zürich", ()): set(), ("Köln", ()): {"Köln"}, ("Zürich", ("Łódź 1",)): {"Málaga", "Straße"},
        ("Köln", ("Łódź 1", "R&D")): {"Köln", "Málaga", "Straße"}, ("Köln", ("Lodz 1",)): {"Köln"},
    }
    faults = {}
    for (department, groups), expected in callers.items():
        caller = log_in(app, given.user("user", department=department, groups=list(groups)))
        page = caller.get("/api/articles?limit=100")
        assert page.status_code == (200 if expected else 403), page.get_data(as_text=True)
        listed = {one["department"] for one in page.get_json().get("items", [])}
        alone = {name for name, row in rows.items() if caller.get(f"/api/articles/{row.id}").status_code == 200}
        if not listed == alone == expected:
            faults[department, groups] = (listed, alone)
    assert faults == {}
