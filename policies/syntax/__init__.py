"""Content of the policy files: model.conf, CSV lines, expressions, roles and patterns, with file and line of each.

The modules here represent the content of a file and decide nothing.
"""
