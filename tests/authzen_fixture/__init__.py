"""A plugin for the fixture of AuthZEN's certification scenario: records to read, write and delete."""

from .records import Records, intown

__all__ = ["Records", "intown"]
