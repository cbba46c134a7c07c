"""Invariants: the lines of invariants.csv, and the proof that a policy keeps them.

It may import `comparison`, `evaluation` and `syntax`.
"""
