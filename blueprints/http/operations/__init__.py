"""What runs around requests: how much a caller may do and own, what is counted, logged and measured, what is
announced as deprecated, and the jobs of the background thread.

Each module holds values and counters that are handed what they need; the stages of `pipeline` ask them. It imports
`protocol`.
"""
