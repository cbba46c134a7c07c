"""Why one request is allowed or refused: `explain` finds the lines and `facts` the words for what they read, `openings`
which line would allow it; an `explanation` is the answer.

May import `loading` and the rooms below it, not `cases` and `tools`.
"""
