"""From files to the policy in use: load and check them, compare with Casbin, keep the last good ones, follow changes.

`files` knows nothing of rules: it also writes what commands edit, and the key file of `gatepost.http.security`.
"""
