"""docs/reference.md is complete and correct: each table is compared with a list of the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import click
from flask import Flask

from tests.commands.test_help import below
from tests.docs.reference import FILE, Table, rewritten, written
from tests.docs.tables import HEADER, commands, headers, tables
from tests.http.described import Description
from tests.running import cli

TEXT = FILE.read_text(encoding="utf-8")
WRITE = "run: python -m tests.docs.reference --write"


@cache
def all_tables() -> list[Table]:
    return tables()


def by_title(find: Callable[[Table, dict[str, list[str]]], Any]) -> dict[str, Any]:
    """Returns the faults of `find(table, rows of the document)` by the title of the table."""
    return {table.title: found for table in all_tables() if (found := find(table, written(TEXT, table.title)))}


def test_every_table_names_everything_that_there_is():
    assert by_title(lambda table, rows: sorted(table.rows.keys() - rows.keys())) == {}, f"missing; {WRITE}"


def test_no_table_names_what_is_not_there():
    assert by_title(lambda table, rows: sorted(rows.keys() - table.rows.keys())) == {}, f"gone; {WRITE}"


def test_every_row_says_what_the_code_says():
    assert by_title(lambda table, rows: [
        (name, rows[name][:len(cells)], list(cells)) for name, cells in table.rows.items()
        if name in rows and rows[name][:len(cells)] != list(cells)]) == {}, WRITE


def test_every_row_is_explained():
    assert by_title(lambda table, rows: table.explained and [
        name for name, cells in rows.items() if not cells[-1]]) == {}


def test_every_command_that_help_lists_has_a_row():
    listed = {" ".join(("gatepost", *path)) for path, command in below(cli) if not isinstance(command, click.Group)}
    assert listed == {name for name, _ in commands()}


def test_writing_the_reference_again_changes_nothing():
    assert rewritten(TEXT, all_tables()) == TEXT, WRITE


def test_what_is_written_by_hand_outlives_a_rewriting():
    text = "# All\n\n## Words\n\nProse.\n\n| Word | Meaning |\n|---|---|\n| `old` | gone |\n| `kept` | by hand |\n"
    table = Table("Words", ("Word", "Meaning"), {"`kept`": (), "`new`": ()}, explained=True)
    assert rewritten(text, [table]) == (
        "# All\n\n## Words\n\nProse.\n\n| Word | Meaning |\n|---|---|\n| `kept` | by hand |\n| `new` |  |\n")


# What other documents say to clients stands in the tables too.

def test_every_parameter_of_the_openapi_description_has_its_row(app: Flask):
    known = {name.strip("`") for title in ("Query parameters", "Filters and sort orders")
             for name in written(TEXT, title)} | _filters()
    spec = Description.of(app).document
    of_operations = [parameter for item in spec["paths"].values() for operation in item.values()
                     for parameter in (operation if isinstance(operation, list) else operation.get("parameters", ()))]
    described = {parameter["name"] for parameter in (*of_operations, *spec["components"]["parameters"].values())
                 if parameter.get("in") == "query"}
    assert sorted(described - known) == []


def _filters() -> set[str]:
    found = set()
    for cells in written(TEXT, "Filters and sort orders").values():
        for part in cells[0].replace("), ", ")\n").splitlines():
            name, _, operators = part.partition(" ")
            found |= {name.strip("`") + ("" if operator == "eq" else f"__{operator}")
                      for operator in operators.strip("()").split(", ")}
    return found


def test_every_header_of_an_answer_has_its_row(app: Flask):
    client, told = app.test_client(), set()
    for method, path in (("GET", "/"), ("GET", "/api/articles?page=1"), ("GET", "/api/ping"), ("GET", "/docs"),
                         ("GET", "/api/orders"), ("PUT", "/api/articles"), ("OPTIONS", "/api/articles"),
                         ("POST", "/api/login"), ("GET", "/api/v9/articles")):
        told |= {name for name, _ in client.open(path, method=method).headers}
    assert sorted(told - {name.strip("`") for name in written(TEXT, "Answer headers")}) == []


def test_the_headers_of_the_code_are_found_where_they_are_used():
    read, told = headers()
    assert {"If-Match", "Prefer", "User-Agent"} <= read
    assert {"ETag", "Idempotency-Replayed", "Retry-After"} <= told
    assert all(HEADER.fullmatch(name) for name in told)


def test_every_chapter_has_its_place_in_the_contents():
    contents = TEXT.partition("\n## ")[0]
    chapters = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert [name for name in chapters if f"(#{name.lower().replace(' ', '-')})" not in contents] == []
