"""Jobs over HTTP for their owners (`endpoints`), for operators (`commands`), and `gatepost worker`.

`gatepost.jobs` runs them.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="jobs", permissions=("job.delete", "job.retry", "job.view"), rows={"job": "models.tables.job:Job"},
    settings=("job_quota",),
    commands={
        "jobs": Command("blueprints.jobs.commands:jobs", "Look at jobs, cancel them, and try them again."),
        "worker": Command("blueprints.jobs.worker:worker", "Run jobs until SIGTERM or Ctrl-C, and serve nothing."),
    })
