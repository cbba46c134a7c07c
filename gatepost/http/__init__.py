"""HTTP: everything between a request and its answer that is the same for all endpoints.

`pipeline/stages` tells the story of a request: each stage in order, and where it may refuse the request. The rooms,
from the ground up; each imports only rooms that are named before it (`schemas` and `operations` know nothing of each
other, nor do `pipeline` and `reading`), and none imports `servers`:

    protocol    HTTP and its words: problems, languages, entity tags, versions, traces
    schemas     what data may look like: fields, validation, visible characters, rows as JSON, files of rows
    operations  what runs around requests: limits, counters, metrics, logs, deprecation, the background thread
    security    what is signed, sealed and hashed: keys, access tokens, cursors, passwords, hidden versions
    request     who asks, for what, under which rules: `Endpoint`, `Call`, `Access`, sessions, sensitive changes, audit
    pipeline    what happens to a request, from its arrival to its answer
    reading     how rows get out: lists, filters, expansion, exports, without the fields that are guarded
    writing     how rows get in: changes, actions, shares and their revocation, imports
    resources   a declaration becomes endpoints: `Collection`, `Routes`, the registry, the OpenAPI description
    servers     who listens: waitress in one process, granian in several; only the commands know them
"""
