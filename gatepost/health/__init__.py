"""Health of the service: `checks` for health, `gatepost doctor` and Prometheus, their result (`finding`), and other
numbers for Prometheus (`gauges`).

A check is about one thing. It returns its state, and a sentence that also says what to do.
"""
