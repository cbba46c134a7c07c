"""A guarded field in the entries of a list that is a column of the row."""

from __future__ import annotations

import pytest
from marshmallow import fields

from gatepost import Int, Line, Many, Reference, StrictSchema
from gatepost.collections.plugins.discovery import discover
from gatepost.testing import log_in
from models.base import new_row, now
from models.engine.connect import open_database
from models.migrate import upgrade
from tests.apps import Given, close, make_app, new_instance
from tests.databases import new_database
from tests.http.console.desk.quotes import Quote, Quotes, QuoteSchema


class GuardedLineSchema(StrictSchema):
    """One line of a quote."""

    text = Line()
    product_id = Reference("products", expand="product", allow_none=True)
    cost = Int(dump_only=True)


class GuardedQuoteSchema(QuoteSchema):
    """One quote."""

    lines = Many(fields.Nested(GuardedLineSchema, allow_none=True), maximum=20)


class GuardedQuotes(Quotes):
    """Quotes whose costs can be hidden."""

    schema, expand = GuardedQuoteSchema, ("lines.product",)
    view_guarded = {"lines.cost": "view_cost"}


LINES = [{"text": "Desk", "product_id": None, "cost": 4321}, None, {"text": "Chair", "product_id": None}]
RULES = """\
p, user,    quote.view,      own, allow
p, user,    quote.export,    own, allow
p, manager, quote.view_cost, own, allow
# end
"""


@pytest.fixture(scope="module")
def desk(request, tmp_path_factory):
    GuardedQuotes.__module__ = Quotes.__module__  # whose folder has the rules and migrations
    url = new_database("sqlite", request, migrated=False)
    database = open_database(url, pool_size=1, synchronous="normal", statement_timeout=10)
    upgrade(database, discover([GuardedQuotes]).migrations)
    database.close_all()
    folder = new_instance(tmp_path_factory.mktemp("desk") / "instance", url, "default")
    (folder / "policies" / "quotes.csv").write_text(RULES)
    made = make_app(folder, url, [GuardedQuotes])
    yield made
    close(made)


@pytest.fixture(scope="module")
def clerk(desk):
    return log_in(desk, "user")


@pytest.fixture(scope="module")
def quote(desk, clerk):
    row = new_row(Quote, clerk.user.tenant_id, now())
    row.owner_id, row.title, row.price, row.currency, row.lines = clerk.id, "Quote", 1, "EUR", LINES
    return Given(desk, "default").row(row)


@pytest.mark.parametrize("path", [
    "", "?fields=lines", "?expand=lines.product", "/export",
    "/{id}", "/{id}?fields=lines", "/{id}?expand=lines.product"])
def test_no_answer_shows_it(path, clerk, quote):
    answer = clerk.get("/api/quotes" + path.format(id=quote.id))
    text = answer.get_data(as_text=True)
    assert answer.status_code == 200, text
    assert "Desk" in text
    assert "cost" not in text
