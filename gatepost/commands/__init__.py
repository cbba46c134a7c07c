"""The base of the `gatepost` command, and the commands about the instance as a whole, one module each.

A command is imported when it is called (`lazy`). Commands that need the app get `create_app` as the context's object,
because this folder cannot import `app`. `gatepost_start.command` puts all commands together.
"""
