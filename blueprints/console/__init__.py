"""The console: pages at `/console` for administrators, made of what the API answers to them.

It has no rights of its own. A page is an endpoint whose caller a cookie names (`frame`), and asks other endpoints in
the caller's name; a form is one run of the API's own endpoint (`forms`). `navigation` says which pages there are, and
to import their modules is to declare them. The setting `console` takes all of it away.
"""

from . import login, rules, trail, why
from .changes import history, reverting, trying
from .data import forms as row_forms
from .data import item as row
from .data import listed as rows
from .frame import routes
from .people import listed as persons
from .people import person, review, unused, who
from .running import page as how_it_runs

__all__ = ["history", "how_it_runs", "login", "person", "persons", "reverting", "review", "routes", "row",
           "row_forms", "rows", "rules", "trail", "trying", "unused", "who", "why"]
