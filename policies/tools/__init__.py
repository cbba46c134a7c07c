"""What an administrator does with policy files: lint, matrix, test cases and export, on files alone.

Runs at commands, and where a service tries its cases before it takes over a change; never decides a request.
May import `loading` and the rooms below it, not `questions`.
"""
