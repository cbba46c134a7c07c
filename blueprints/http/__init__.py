"""HTTP: everything between a request and its answer that is the same for all endpoints.

`pipeline/stages` tells the story of a request: each stage in order, and where it may refuse the request. The rooms,
from the ground up; each imports only rooms that are named before it (`schemas` and `operations` know nothing of each
other, nor do `pipeline` and `reading`), and none imports `servers`:

    protocol    HTTP and its words: problems, languages, entity tags, versions, traces
    schemas     what data may look like: fields, validation, rows as JSON, files of rows
    operations  what runs around requests: limits, counters, metrics, logs, deprecation, the background thread
    security    what is signed, sealed and hashed: keys, access tokens, cursors, passwords
    request     who asks, for what, under which rules: `Endpoint`, `Call`, `Services`, `Access`, sessions, audit
    pipeline    what happens to a request, from its arrival to its answer
    reading     how rows get out: lists, filters, expansion, exports
    writing     how rows get in: changes, actions, shares, imports
    resources   a declaration becomes endpoints: `Collection`, `Routes`, the registry, the OpenAPI description
    servers     who listens: waitress in one process, granian in several; only the commands know them
"""
