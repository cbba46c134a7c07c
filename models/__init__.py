"""Rows: how they are stored, found and listed. Nothing here knows a request or a rule.

`engine` talks to the database, `records` knows single rows and `paging` pages of them, `tables` says which tables there
are. `base` is the face of `records` for collections, commands and plugins; `migrate` applies the files in `migrations`.
"""
