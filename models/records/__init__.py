"""Single rows: ids, times and kinds of columns; finding, storing, changing and full-text indexing of rows.

Code here applies to every table. Imports only `engine`.
"""
