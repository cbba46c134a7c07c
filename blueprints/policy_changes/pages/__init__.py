"""Pages of the console about changes of the rules: tried and put in force (`trying`), looked up (`history`), undone
(`reverting`).

`drafts` are files while they are edited, `outcome` is what a change does, `differing` how texts differ.
"""

from .history import routes as history_pages
from .reverting import routes as reverting_pages
from .trying import routes as trying_pages

__all__ = ["history_pages", "reverting_pages", "trying_pages"]
