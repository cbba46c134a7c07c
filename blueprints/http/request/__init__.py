"""Who asks, for what, under which rules. `call` holds what a request is made of (`Endpoint`, `Call`, `Services`),
`identity` finds the principal, `access` and `environment` ask the policy, `sessions` are logins. `audit` says what
a request did or was refused; `trail` stores later what has no transaction of its own, and seals the rows.

It imports the rooms below, and knows collections only by the Protocols `Peer` and `Discovered`.
"""
