"""What data may look like: strict fields, query parameters, the fields that every row has, validation, and rows as
JSON, NDJSON and CSV; which characters of a text its reader sees (`visible`).

`validation` applies schemas, and keeps what is derived from a query string. Nothing here knows a collection, a caller
or the policy. It imports `protocol`.
"""
