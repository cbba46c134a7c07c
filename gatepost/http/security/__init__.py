"""What is signed, sealed and hashed: the ring of keys and what is derived from it, access tokens, cursors, passwords,
the epoch, which a restore makes anew, and the versions of rows for readers who may not see them (`hidden_versions`).

What uses them lies above: who shows a token (`request/identity`), how refresh tokens follow each other
(`credentials/sessions`), how the audit trail is sealed (`auditing/trail`). It imports `protocol`, `schemas` and
`operations`, and knows no request.
"""
