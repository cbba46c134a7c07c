"""A plugin that serves the fixture of AuthZEN's certification scenario: records that are read, written and deleted."""

from .records import Records, intown

__all__ = ["Records", "intown"]
