"""`python -m gatepost`: the `gatepost` command, for shells that do not find its script."""

from gatepost_start.command import cli

cli(prog_name="gatepost")
