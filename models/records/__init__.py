"""Single rows: their ids, times and kinds of column, how they are found, stored, changed and indexed by their words.

Here belongs what holds for every table. Imports `engine` alone; `lists` is beside it.
"""
