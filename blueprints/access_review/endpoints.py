"""What is served: who may do something, the review of roles, what is unused, and what somebody may see."""

from .unused import routes as unused
from .visible import routes as visible
from .who import routes as who

__all__ = ["unused", "visible", "who"]
