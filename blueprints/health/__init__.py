"""How the service is: `checks` that `endpoints` and `gatepost doctor` ask, and what Prometheus is told (`gauges`).

A check looks at one thing, and says in a sentence how it is and what to do about it.
"""
