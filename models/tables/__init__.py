"""The tables, one module for each noun, with the queries and rules that belong to its rows alone.

Imports `engine`, `records` and `lists`; a table may import another to which it refers.
"""
