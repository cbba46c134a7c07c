"""Services around requests: limits, logs, metrics, deprecation, background tasks.

`limits` and `counters` are rate limits, `concurrency` limits simultaneous requests, and `row_quota` the rows of a user.
`background` runs tasks in a thread; `housekeeping` deletes expired rows. `write_probe` serves the health check, and
`affinity` chooses the cores of threads.

The modules hold values and counters, and receive all that they need as arguments; the stages of `pipeline` call them.
The folder imports `protocol`.
"""
