"""The access matrix as a reader sees it on the page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from werkzeug.test import TestResponse

from tests.http.console.pages import Seen, Visitor

RULES = "/console/rules"
SCRIPT = '<script>alert(1)</script> "><b>'
HOSTILE = f"{SCRIPT} \N{RIGHT-TO-LEFT OVERRIDE}evil"


def seen(visitor: Visitor, **query: Any) -> Seen:
    return visitor.page(f"{RULES}?{urlencode(query)}")


@dataclass
class Cell:
    """A cell. `cell` is the target of its link; None without a link."""

    text: str = ""
    cell: str | None = None


@dataclass
class Line:
    group: str
    head: str = ""
    cells: list[Cell] = field(default_factory=list)


class Table(HTMLParser):
    """A table of a page. `columns` are the roles and the user, without the column of the permissions."""

    def __init__(self) -> None:
        super().__init__()
        self.columns, self.rows, self.links = list[str](), list[Line](), list[str]()
        self._group, self._open, self._text, self._inside = "", "", "", False
        self._cell = Cell()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "table":
            self._inside = given.get("data-swap") == "split"
        if not self._inside:
            return
        if tag in ("th", "td"):
            self._open, self._text, self._cell = given.get("scope", tag), "", Cell()
            if self._open == "row":
                self.rows.append(Line(self._group))
        if tag == "a":
            self.links.append(given["href"])
            self._cell.cell = parse_qs(urlsplit(given["href"]).query)["cell"][0]

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._inside = False
        if not self._inside or tag not in ("th", "td"):
            return
        text = re.sub(r"\s+", " ", self._text).strip()
        if self._open == "col":
            self.columns.append(text)
        elif self._open == "rowgroup":
            self._group = text
        elif self._open == "row":
            self.rows[-1].head = text
        else:
            self._cell.text = text
            self.rows[-1].cells.append(self._cell)


def table(answer: TestResponse) -> Table:
    """Returns the table of an answered page."""
    assert answer.status_code == 200, answer.text
    found = Table()
    found.feed(answer.text)
    assert found.columns.pop(0) == "Permission"
    return found
