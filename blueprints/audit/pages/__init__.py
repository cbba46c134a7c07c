"""Pages of the console about the audit trail (`trail`)."""

from .trail import routes as trail_pages

__all__ = ["trail_pages"]
