"""The `gatepost` command. Its script imports this module: a foreign `app` or `gatepost` is told of, not imported."""

from app import cli

__all__ = ["cli"]
