"""HTTP: everything between a request and its answer that is the same for all endpoints.

`pipeline/stages` has the stages of a request in their order, and the refusals of each. The folders, from the ground up
(tests/rooms.py has the imports that are allowed):

    protocol     HTTP itself: problems, languages, entity tags, versions, traces
    schemas      form of data: fields, validation, visible characters, rows as JSON, files of rows
    operations   work around requests: limits, counters, metrics, logs, deprecation, the background thread
    security     signatures, seals and hashes: keys, access tokens, cursors, passwords
    auditing     writer and seals of the audit log
    request      caller, endpoint and rules: `Endpoint`, `Call`, `Access`, the events of the audit log
    credentials  sessions, tokens, cookies, and passwords that are asked for again
    pipeline     stages of a request, from its arrival to its answer
    reading      rows in answers: lists, filters, expansion, exports, without hidden fields
    writing      rows in requests: changes, actions, shares and their revocation, imports
    openapi      description of the endpoints
"""
