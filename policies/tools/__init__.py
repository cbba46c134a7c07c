"""What an administrator makes of policy files: the table of who may do what, and one file of plain Casbin.

Runs at commands alone; never decides a request. May import `loading` and the rooms below it, not `cases` and
`questions`.
"""
