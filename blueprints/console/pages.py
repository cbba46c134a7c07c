"""What the pages of other features, and of plugins, import from the console."""

from .forms import form
from .frame import drawn_again, page, see_other, served, showing, texts
from .navigation import Page, enter

__all__ = ["Page", "drawn_again", "enter", "form", "page", "see_other", "served", "showing", "texts"]
