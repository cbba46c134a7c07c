"""The two servers: `waitress` serves in one process, `granian` in several. Beside them lies what both have in common:
which requests find no thread, how slowly a client may send and read, by which network a body is counted, how signals
arrive, which requests HTTP does not allow (`grammar`), which sockets a supervisor holds (`activation`) and what it is
told (`notify`).

It imports `operations` and `protocol`; only the commands import it. It knows two paths of the application: the liveness
probe, which `admission` answers first, and that of an import, whose body may be larger.
"""
