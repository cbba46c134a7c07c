"""What is signed, sealed and hashed: the ring of keys and what is derived from it, access tokens, cursors, passwords.

A secret is made, kept and compared here and nowhere else. It imports `protocol`, `schemas` and `operations`, and knows
no request.
"""
