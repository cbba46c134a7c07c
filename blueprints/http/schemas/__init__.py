"""What data may look like: strict fields, query parameters, the fields that every row has, validation, and rows as
JSON, NDJSON and CSV.

Nothing here knows a collection, a caller or the policy. It imports `protocol`.
"""
