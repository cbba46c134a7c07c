"""Parts of a page of the console, for the pages of features and of plugins."""

from .forms import form, typed
from .frame import drawn_again, further_step, inside, page, refused, see_other, served, showing, texts
from .naming import PERSON, collection_of, found, names_of, objects_found, people, sentence
from .navigation import Page, Way, enter, offer_login
from .overview import Part, Step, show_part, suggest

__all__ = ["PERSON", "Page", "Part", "Step", "Way", "collection_of", "drawn_again", "enter", "form", "found",
           "further_step", "inside", "names_of", "objects_found", "offer_login", "page", "people", "refused",
           "see_other", "sentence", "served", "show_part", "showing", "suggest", "texts", "typed"]
