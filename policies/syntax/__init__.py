"""What the policy files say: model.conf, CSV lines, expressions, roles and patterns, with file and line of each.

Here belongs what represents what stands in a file and decides nothing.
"""
