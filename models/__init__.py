"""Storage and retrieval of rows. Nothing here knows a request or a rule.

`engine` connects to the database. `records` handles single rows, and `paging` pages of them. `tables` defines the
tables. `base` is the public part of `records` for collections, commands and plugins. `migrate` applies the files in
`migrations`.
"""
