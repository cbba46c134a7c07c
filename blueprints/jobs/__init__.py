"""Jobs over HTTP for their owners (`endpoints`), for operators (`commands`), and `gatepost worker`.

`gatepost.jobs` runs them.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="jobs", permissions=("job.delete", "job.retry", "job.view"), rows={"job": "models.tables.job:Job"},
    settings=("job_quota",),
    commands={
        "jobs": Command("blueprints.jobs.commands:jobs", "List, show, cancel and retry jobs."),
        "worker": Command("blueprints.jobs.worker:worker",
                          "Run jobs until SIGTERM or Ctrl-C, without serving requests."),
    })
