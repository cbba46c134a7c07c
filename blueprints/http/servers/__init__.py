"""Who listens: `waitress` serves in one process, `granian` in several. Beside them lies what both have in common: which
requests find no thread, how slowly a client may send and read, by whose network a body is counted, how signals arrive.

It imports `operations` and `protocol`, and serves any WSGI application; only the commands know it.
"""
