"""Answers of the rules: `Policy` decides about one object, plans a list, and traces each rule.

Here belong the partial evaluation of matchers, their Python and SQL forms, and what a role is granted. Runs within
requests, so it reads no file. May import `syntax`.
"""
