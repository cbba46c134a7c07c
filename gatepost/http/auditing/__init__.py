"""The audit trail beside the requests: `trail` stores what has no transaction of its own (refusals, merged by
`refusals`, looks at the trail, and the uses of credentials: `uses`), and seals what all have stored.

What a request says to the trail lies above (`request/audit`). It imports `operations` and `security`.
"""
