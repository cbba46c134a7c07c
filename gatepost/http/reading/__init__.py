"""Reads of rows: select through `<resource>.view`, list, show as JSON, expand, export.

`readable` is the declaration. `query` and `filters` define the query parameters. `listing` turns them into SQL and
answers a page; `exporting` answers a file. Nothing here changes a row. The folder may import `request` and the folders
below it, but not `pipeline`.
"""
