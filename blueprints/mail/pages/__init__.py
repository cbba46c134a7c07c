"""Pages of the console that are served where mail is on (`links`)."""

from .links import routes as link_pages

__all__ = ["link_pages"]
