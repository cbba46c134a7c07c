"""Exact comparison of two policies: example facts on which they differ, or a proof that there are none.

It contains the search for such facts and the conclusions about one policy. It may import `evaluation` and `syntax`.
"""
