"""The granian server: `server` starts and stops its processes, and each of them calls `application` for a request.

granian is used through its public interface. The exceptions are a function and a class that pass a supervisor's socket
to a worker; tests/servers/test_servers_private.py names them.
"""
