"""Who asks, for what, under which rules. `call` holds what a request is made of (`Endpoint`, `Call`, `Services`), and
`write` what its effect leaves; `identity` finds the principal, `access` and `environment` ask the policy. `audit` says
what a request did or was refused, `decision` by which facts. `process` starts and stops what runs beside the requests.

It imports the rooms below, and knows collections only by the Protocols `Peer` and `Discovered`.
"""
