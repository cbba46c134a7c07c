"""What two sets of rules answer differently, proved: an example of facts where they differ, or that there is none.

Here belong the search for such facts, what follows from it about one policy, and invariants. May import `evaluation`
and `syntax`.
"""
