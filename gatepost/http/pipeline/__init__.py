"""What happens to a request, from its arrival to its answer, and where it may be refused.

`stages` is the list of stages in order; every other module holds the details of one of them, or wraps the whole
application: `uri`, `browsers`, `compression`. `application` is Flask without what is not used, and `errors` makes the
answer of whatever is raised. May import `request` and the rooms below it; not `reading`, which lies
beside it.
"""
