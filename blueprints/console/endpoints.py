"""The console's own pages: to import their modules is to declare them."""

from . import login
from .data import files as row_files
from .data import forms as row_forms
from .data import item as row
from .data import listed as rows
from .data import several as several_rows
from .frame import routes
from .people import account as own_account
from .people import listed as persons
from .people import new as new_person
from .people import person
from .running import page as how_it_runs
from .running import start

__all__ = ["how_it_runs", "login", "new_person", "own_account", "person", "persons", "routes", "row", "row_files",
           "row_forms", "rows", "several_rows", "start"]
