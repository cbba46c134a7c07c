"""Who asks, for what, under which rules. `call` holds what a request is made of (`Endpoint`, `Call`, `Services`),
`identity` finds the principal, `access` and `environment` ask the policy, `sessions` are logins, `audit` and `trail`
record what was done and what was refused.

It imports the rooms below, and knows collections only by the Protocols `Peer` and `Discovered`.
"""
