"""Work outside of a request: jobs, which survive the process that runs them.

`task` is a running job; `runner` takes jobs from the queue, and `lease` keeps a job for this process. `hooks` are jobs
of plugins. `requests` stores asynchronous requests, `imports` and `exports` run them, `files` stores their files, and
`transfers` lists their kinds. May import `writing` and the rooms below it.
"""
