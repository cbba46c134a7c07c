"""Writes of rows: create, change, delete, actions, imports from files, shares.

`writable` is the declaration, with the methods that a subclass may override. `importing`, `intake`, `lines` and
`planned` import a file. `actions`, `sharing` and `revocation` (the shares that end with a right to share) belong to one
row. The folder may import `reading`, `pipeline` and the folders below them.
"""
