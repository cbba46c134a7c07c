"""The granian server: `server` are its processes, `calls` is what granian calls for each request, `bodies` is what
clients send, `transfers` what they read, `listeners` where they come in; `board` is what the processes share.

What is replaced of granian is private there: tests/servers/test_servers_private.py names it.
"""
