"""Why one request is allowed or refused: `explain` finds the lines and the `facts`, `openings` which line would allow it;
an `explanation` is the answer.

May import `loading` and the rooms below it, not `cases` and `tools`.
"""
