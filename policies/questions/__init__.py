"""What people ask about a policy: why something is allowed or refused, and what a change of the files changes.

May import `loading` and the rooms below it, not `tools`.
"""
