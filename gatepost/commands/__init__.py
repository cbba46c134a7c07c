"""The frame of the `gatepost` command, and the commands about the instance as a whole, one module each.

A command is imported when it is called (`lazy`). Those that need the app get its factory as the context's object,
because imports run from `app` to here: `gatepost_start.command` puts all commands together.
"""
