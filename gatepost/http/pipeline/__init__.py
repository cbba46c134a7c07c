"""Path of a request from its arrival to its answer, with the refusals on the way.

`stages` lists the stages in order. Every other module holds the details of one stage, or wraps the whole application:
`uri`, `browsers`, `compression`. `application` is Flask without the parts that Gatepost does not use. `errors` turns
exceptions into answers. The folder may import `request` and the folders below it, but not `reading`.
"""
