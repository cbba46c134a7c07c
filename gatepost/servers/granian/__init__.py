"""The granian server: `server` starts and stops its processes, `application` is what each of them calls for a request.

granian is used through its public interface, but for one function and one class that hand a supervisor's socket to a
worker: tests/servers/test_servers_private.py names them.
"""
