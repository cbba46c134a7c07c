"""The two servers: `waitress` serves in one process, and `granian` in several processes behind a proxy.

`waitress` protects itself against slow and malformed requests. Both share the refusal of requests that get no thread
(`admission`), the syntax checks (`grammar`), a supervisor's sockets (`activation`), messages to it (`notify`), and the
check that they answer (`answering`).

The folder imports `operations` and `protocol`, and only the commands import it. It knows two paths of the application:
the liveness probe, which the spare thread answers, and imports, whose bodies may be larger.
"""
