"""State and decision of one request: caller, endpoint, rules.

`call` holds the `Call`, its `Write`, the app's `Services`, and the parts of a process that start and stop. `endpoint`
declares an `Endpoint`. `identity` finds the principal; `access` and `environment` ask the policy. `audit` writes down
what a request did, or why it was refused; `decision` collects the facts of that decision.

The folder imports the folders below it, and knows collections only by the Protocols `Peer` and `Discovered`.
"""
