"""Output of policy files for administrators: the table of who may do what, and one file of plain Casbin.

No module here decides a request. They may import `loading` and the rooms below it, not `cases` and `questions`.
"""
