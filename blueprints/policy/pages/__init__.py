"""Pages of the console: the rules in force (`rules`), and why something is allowed or refused (`why`)."""

from .rules import routes as rules_pages
from .why import routes as why_pages

__all__ = ["rules_pages", "why_pages"]
