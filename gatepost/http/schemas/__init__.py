"""Schemas of data: strict fields, query parameters, fields of every row, validation, rows as JSON, NDJSON and CSV.

`validation` applies schemas, and caches the results for query strings. `visible` finds the characters of a text that a
reader cannot see. Nothing here knows a collection, a caller or the policy. The folder imports `protocol`.
"""
