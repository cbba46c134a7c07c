"""The granian server: `server` starts its processes, `application` is what each of them calls for a request, `board` is
what they tell each other, `listeners` ends the acceptance of connections.

granian is used through its public interface, but for one function and one class that hand a supervisor's socket to a
worker: tests/servers/test_servers_private.py names them.
"""
