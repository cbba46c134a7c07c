"""How rows get out: found through `<resource>.view`, listed, shown as JSON, expanded and exported.

`readable` is the declaration; `query` and `filters` say what a client may ask; `listing` makes SQL of it and answers a
page, and `exporting` a file. Nothing here changes a row. May import `request` and the rooms below it; not
`pipeline`, which lies beside it.
"""
