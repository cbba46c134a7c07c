"""Tables, one module for each noun, with the queries and rules of its rows.

Imports `engine` and `records`; a table may import another that it refers to.
"""
