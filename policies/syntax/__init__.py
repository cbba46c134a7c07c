"""What the policy files say: model.conf, CSV lines, expressions, roles and patterns, with file and line of each.

Here belongs what reads or represents a file and decides nothing. Imports no other room. `files` knows nothing of rules:
it also writes the last good policy, what commands edit, and the key file of `blueprints.http.security`.
"""
