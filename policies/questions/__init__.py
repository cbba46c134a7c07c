"""What people ask about a policy: why something is allowed or refused, what a change of the files changes, and what
came with an upgrade.

May import `loading` and the rooms below it, not `cases` and `tools`.
"""
