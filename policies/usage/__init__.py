"""Usage of the policy: rules and permissions that nobody uses, and the roles of each user with their rules.

It imports `lint`, `questions` and the rooms below them; nothing in policies imports it.
"""
