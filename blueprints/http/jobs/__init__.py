"""Work outside of a request: jobs that survive the process that runs them.

`kinds` and `task` are what a job is made of; `runner` takes it from the queue, and `lease` says that this process has
it. `requests` writes down what a client asks for, `imports` and `exports` do it, `files` keeps its bytes, and
`transfers` names the kinds of these. May import `writing` and the rooms below it.
"""
