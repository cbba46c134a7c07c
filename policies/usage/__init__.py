"""What became of the rules in use: which lines and permissions nobody uses, and who holds which role by which line.

It imports `lint`, `questions` and the rooms below them; nothing in policies imports it.
"""
