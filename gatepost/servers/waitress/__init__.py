"""The waitress server. `listener` accepts connections, `channel` is one of them, `parser` reads a message, `bodies`
decides how much of a body is read, `dispatcher` which thread answers.

Each replaces a class of waitress; tests/servers/test_servers_private.py names what is private there.
"""
