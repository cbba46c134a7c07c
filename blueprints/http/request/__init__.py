"""Who asks, for what, under which rules. `call` holds what a request is made of (`Endpoint`, `Call`, `Services`), and
`write` what its effect leaves; `identity` finds the principal, `access` and `environment` ask the policy. `audit` says
what a request did or was refused; `trail` stores later what has no transaction of its own (the uses of service tokens
too: `token_uses`), and seals the rows. `process` starts and stops what runs beside the requests.

It imports the rooms below, and knows collections only by the Protocols `Peer` and `Discovered`.
"""
