"""Endpoints: policy versions, and changes."""

from .changing import routes as changing
from .versions import routes as versions

__all__ = ["changing", "versions"]
