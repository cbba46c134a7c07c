"""What runs around requests: how much a caller may do (`limits`, `counters`, `slots`) and own (`ownership`), what is
logged and measured, what is announced as deprecated, the jobs of the background thread, with what they delete
(`housekeeping`), the write probe of the health check (`write_probe`), and the cores that threads run on (`affinity`).

Each module holds values and counters that are handed what they need; the stages of `pipeline` ask them. It imports
`protocol`.
"""
