"""Work outside of a request: jobs that survive the process that runs them.

`kinds` and `task` are what a job is made of, `runner` and `lease` run it. May import `writing` and the rooms below it.
"""
