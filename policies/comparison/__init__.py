"""Exact comparison of two policies: an example request on which they differ, or a proof that there is none.

`subjects` are the callers that rules distinguish, `candidates` the values to try, `substitution` an expression with some
of its values known, and `prover` the search. It may import `evaluation` and `syntax`.
"""
