"""The OpenAPI description, made from the same `Endpoint` declarations that the pipeline runs.

`document` is the whole of it. `operations` describes one endpoint, with the request and answer headers of `headers` and
the problem documents of `problems`.
"""
