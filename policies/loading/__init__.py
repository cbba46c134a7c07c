"""Loading of policy files: check them, compare them with Casbin, keep the last valid ones, follow changes.

`files` is independent of rules: it also writes files that commands edit, and the key file of `gatepost.http.security`.
"""
