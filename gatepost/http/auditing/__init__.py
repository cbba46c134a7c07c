"""Audit log outside the transactions of requests.

`writer` stores events without a transaction: refusals, merged by `refusals`, reads of the audit log, and uses of
credentials. It also seals the audit log. `request/audit` makes the events. The folder imports `operations` and
`security`.
"""
