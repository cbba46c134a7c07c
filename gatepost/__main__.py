"""`python -m gatepost`: the `gatepost` command, where its script is not on the search path of the shell."""

from app import cli

cli(prog_name="gatepost")
