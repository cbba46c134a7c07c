"""HTTP: everything between a request and its answer that is the same for all endpoints.

Start with `pipeline`, which tells the story of a request; then find the room:

A request's way
    pipeline        its stages in order, and where each may refuse it
    call            `Endpoint`, what was declared; `Call`, what is being answered
    access          where rows meet rules: what this principal may do, and the WHERE that says so
    environment     `r.env`: hour, address, device
    validation      schemas applied to query and body
    body            the strict JSON reader
    fields          the fields of schemas; `parameters` those of query strings
    negotiation     `Accept`; `language` is `lang` and `Accept-Language`, `versions` is `API-Version`
    conditional     ETag, `If-Match`, `If-None-Match`
    expectation     the head judged alone, before the server reads a large body
    respond         the result as bytes and headers
    errors          every error code, and the problem document
    messages        texts with values in them, and their translations

Before and after it
    uri             what a URL may look like at all
    application     the Flask application
    trace           request id and trace, on every answer
    compression     gzip
    browsers        CORS and protective headers

A collection
    collection      a declaration becomes a REST resource; `readable` is its reading half
    schema          the fields that every row has
    representation  a row as JSON
    expansion       references as objects: `expand=`
    action          named steps of a row's life: publish, cancel
    sharing         one object for one person, group or role
    routes          endpoints that belong to no collection, and how all of them get into the app
    registry        which collections and routes there are, plugins too, and the words of the policy

Lists
    listing         a page: policy, query and table in one statement
    query           the query language; `filters` are the part that picks rows
    cursors         a signed place in a list; `place` is where a query string holds it
    envelopes       what is around the rows: totals, links
    kept            results that are not made twice

Writes and files
    idempotency     `Idempotency-Key`
    exporting       rows into files; `formats` reads and writes NDJSON and CSV
    importing       files into rows: `intake` is the whole file, `lines` one line

Who asks
    identity        from credentials to a principal
    login           sessions: access and refresh tokens
    tokens          access tokens as JWTs; `signing` are their algorithms
    keys            the ring of secrets, and what is derived from it
    passwords       what is accepted, how it is hashed

Limits and operations
    limits          units a minute; `counters` counts them, here or in Redis
    ownership       rows that one user may own
    deprecation     announced, dated, counted, gone
    audit           what is recorded of a request; `trail` stores and seals; `refusals` merges floods of them
    background      the thread beside the requests; `housekeeping` are its jobs
    services        what one app is made of
    logs            one JSON object a line
    metrics         what Prometheus asks
    admission       what finds no thread is refused; `slots` bound what lasts, such as `long_answers`
    transfers       how slowly a client may send or read
    serving         one process (waitress); `workers`, several (granian); `affinity`, the core they run on
    waitress_listener  accepts connections; `waitress_channel` is one, `waitress_bodies` how much it reads,
                    `waitress_parser` what a message may look like, `waitress_dispatcher` its threads
    granian_calls   what granian calls; `granian_bodies` is what clients send, `granian_transfers` what they read
    forwarded       by whose network either server counts
    signals         handled in a thread, so that none is lost and none interrupts

Documentation
    docs            the OpenAPI description and its page
    front           what is at `/`
"""
