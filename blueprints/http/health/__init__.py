"""How the service is and was: checks that health (`blueprints/health`) and `gatepost doctor` ask alike, what Prometheus
is told of the instance, and how many requests were answered in each minute of the last day.

A check looks at one thing, and says in a sentence how it is and what to do about it. The room imports `operations` and
`security`.
"""
