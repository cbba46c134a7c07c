"""From files to the policy in use: load and check them, compare with Casbin, keep the last good ones, follow changes.

May import `evaluation` and `syntax`.
"""
