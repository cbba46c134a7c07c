"""How rows get in: created, changed, deleted, moved by actions, imported from files, and shared.

`writable` is the declaration and what a subclass may override; `importing`, `intake` and `lines` are the way
of a file; `actions`, `sharing` and `revocation` (what goes with a right to share) belong to one row. May import
`reading`, `pipeline` and the rooms below them.
"""
