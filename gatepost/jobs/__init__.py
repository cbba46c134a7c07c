"""Work outside of a request: jobs that survive the process that runs them.

`task` is a job while it runs; `runner` takes it from the queue, and `lease` says that this process has it. `hooks` are
what plugins have done. `requests` writes down what a client asks for, `imports` and `exports` do it, `files` keeps its
bytes, and `transfers` names the kinds of these. May import `writing` and the rooms below it.
"""
