"""The two servers: `waitress` serves in one process and holds off slow and malformed requests by itself, `granian`
serves in several processes behind a proxy. Both share the refusal of requests that find no thread (`admission`), the
requests that HTTP does not allow (`grammar`), the sockets that a supervisor holds (`activation`), its notices
(`notify`), and the first request (`answering`).

It imports `operations` and `protocol`; only the commands import it. It knows two paths of the application: the liveness
probe, which `admission` answers first, and that of an import, whose body may be larger.
"""
