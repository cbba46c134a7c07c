"""Signatures, seals and hashes: key ring, access tokens, cursors, passwords.

`epoch` changes with each restore. `hidden_versions` are the versions of rows for readers who may not see them.

Folders above use these: `request/identity` reads tokens, `credentials/sessions` rotates refresh tokens, and
`auditing/writer` seals the audit log. This folder imports `protocol`, `schemas` and `operations`, and knows no request.
"""
