"""Cases of a `tests.yaml`: what the file says, whom and what it asks about, what the rules answer, and the report.

Runs at commands, and where a service tries its cases before it takes over a change; reads no rules of its own.
May import `loading` and the rooms below it, not `tools` and `questions`.
"""
