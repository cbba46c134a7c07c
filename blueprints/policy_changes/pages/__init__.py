"""Pages of the console about changes of the rules: tried and put in force (`trying`), looked up (`history`), undone
(`reverting`). `role` writes the line of a new role.

`drafts` are files while they are edited, `outcome` is what a change does, `differing` how texts differ.
"""

from . import role
from .history import routes as history_pages
from .reverting import routes as reverting_pages
from .trying import routes as trying_pages

__all__ = ["history_pages", "reverting_pages", "role", "trying_pages"]
