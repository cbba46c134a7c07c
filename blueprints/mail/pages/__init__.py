"""Pages of the console where mail is on: password links (`links`), verified addresses (`verifications`)."""

from .links import routes as link_pages
from .verifications import routes as verification_pages

__all__ = ["link_pages", "verification_pages"]
