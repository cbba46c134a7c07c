"""Pages of rows: orders, positions in them, the statements that read a page, and totals.

Here belongs what holds for a list of any table. Imports `engine` alone; `records` is beside it.
"""
