"""Exact comparison of two policies: an example request on which they differ, or a proof that there is none.

`subjects` are the callers that rules distinguish, `candidates` the values to try, `substitution` puts values into an
expression, and `prover` searches. It may import `evaluation` and `syntax`.
"""
