"""The console: pages at `/console` for administrators, made of what the API answers to them.

It has no rights of its own. A page is an endpoint whose caller a cookie names (`frame`), and asks other endpoints in
the caller's name; a form is one run of the API's own endpoint (`forms`). `navigation` says which pages there are. The
setting `console` takes all of it away.
"""

from . import (
    data,
    data_forms,
    data_item,
    history,
    login,
    people,
    person,
    reverting,
    rules,
    running,
    trail,
    trying,
    who,
    why,
)
from .frame import routes

__all__ = [
    "data", "data_forms", "data_item", "history", "login", "people", "person", "reverting", "routes", "rules",
    "running", "trail", "trying", "who", "why",
]
