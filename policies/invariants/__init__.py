"""What may never happen, whatever the rules say: the lines of invariants.csv, and the proof that a policy keeps them.

May import `comparison`, `evaluation` and `syntax`.
"""
