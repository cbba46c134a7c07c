"""Pages of the console: `who` may do something, a `review` of who has which role, and what is `unused`."""

from .review import routes as review_pages
from .unused import routes as unused_pages
from .who import routes as who_pages

__all__ = ["review_pages", "unused_pages", "who_pages"]
