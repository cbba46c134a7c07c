"""What data may look like: strict fields, query parameters, the fields that every row has, validation, and rows as
JSON, NDJSON and CSV; `bounded_cache` keeps what was made of a schema.

`bounded_cache` keeps what is derived from a query string. Nothing here knows a collection, a caller or the policy. It
imports `protocol`.
"""
