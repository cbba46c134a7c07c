"""Who asks, for what, under which rules. `call` holds what a request is made of (`Endpoint`, `Call`, `Services`), and
`write` what its effect leaves; `identity` finds the principal, `access` and `environment` ask the policy. `sessions`
are logins; `step_up` asks for the password once more before a sensitive change, and `guessing` counts wrong ones.
`audit` says what a request did or was refused; `trail` stores later what has no transaction of its own (the uses of
service tokens too: `token_uses`), and seals the rows.

It imports the rooms below, and knows collections only by the Protocols `Peer` and `Discovered`.
"""
