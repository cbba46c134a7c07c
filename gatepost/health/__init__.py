"""How the service is: `checks` that health, `gatepost doctor` and Prometheus ask, what a check finds (`finding`), and
other numbers for Prometheus (`gauges`).

A check looks at one thing, and says in a sentence how it is and what to do about it.
"""
