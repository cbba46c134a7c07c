"""Endpoints: who may do something, unused rules, and rows visible to a user or role."""

from .unused import routes as unused
from .visible import routes as visible
from .who import routes as who

__all__ = ["unused", "visible", "who"]
