"""Questions about a policy: the changes by an edit of its files, the additions of an upgrade, a replay of the past, and
the users who may do something.

May import `loading` and the rooms below it, not `cases` and `tools`.
"""
