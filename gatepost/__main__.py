"""`python -m gatepost`: the `gatepost` command, where its script is not on the search path of the shell."""

from gatepost_start.command import cli

cli(prog_name="gatepost")
