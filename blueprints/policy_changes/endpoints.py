"""What is served: the versions that were in force, and changes."""

from .changing import routes as changing
from .versions import routes as versions

__all__ = ["changing", "versions"]
