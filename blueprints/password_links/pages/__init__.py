"""Pages of the console: create a link for a user (`offer`), and the page that the link opens (`choice`)."""

from .choice import routes as choice_pages
from .offer import routes as offer_pages

__all__ = ["choice_pages", "offer_pages"]
