"""Pages of the console: the current rules (`rules`), and explanations of decisions (`why`)."""

from .rules import routes as rules_pages
from .why import routes as why_pages

__all__ = ["rules_pages", "why_pages"]
