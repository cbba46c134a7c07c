"""Reasons of a decision: `explain` finds the rules, `facts` the words for what they read, and `openings` rules that
would allow it. An `explanation` is the answer.

May import `loading` and the rooms below it, not `cases` and `tools`.
"""
