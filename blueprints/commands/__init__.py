"""The `gatepost` commands, one module a group. `gatepost_start.command` puts them together.

Each is imported when it is called. Commands that need the app get its factory as the context's object, because imports
run from `app` to here: `click.Group("gatepost", commands=commands, context_settings={"obj": create_app})`.
"""

from __future__ import annotations

import click

from blueprints.commands.lazy import Lazy

commands: list[click.Command] = [
    Lazy("init", "blueprints.commands.server:init", "Make an instance, unless there is one."),
    Lazy("serve", "blueprints.commands.server:serve", "Serve until SIGTERM or Ctrl-C."),
    Lazy("worker", "blueprints.jobs.worker:worker", "Run jobs until SIGTERM or Ctrl-C, and serve nothing."),
    Lazy("demo", "blueprints.demo.commands:demo", "Add N invented articles to the default tenant."),
    Lazy("import", "blueprints.transfer.commands:import_", "Make or change rows of COLLECTION from FILE."),
    Lazy("export", "blueprints.transfer.commands:export", "Write the rows of COLLECTION to FILE, as NDJSON or CSV."),
    Lazy("user", "blueprints.sessions.commands.accounts:user",
         "Add users, set passwords, disable and enable accounts."),
    Lazy("tenant", "blueprints.sessions.commands.accounts:tenant",
         "Add tenants: groups of users who do not see one another's rows."),
    Lazy("token", "blueprints.sessions.commands.tokens:token", "Give programs tokens that act for a user."),
    Lazy("jobs", "blueprints.jobs.commands:jobs", "Look at jobs, cancel them, and try them again."),
    Lazy("policy", "blueprints.policy.commands.group:policy", "Check, explain, test and compare the access rules."),
    Lazy("keys", "blueprints.commands.keys:keys", "List the generations of keys, and rotate them."),
    Lazy("audit", "blueprints.audit.commands:audit", "Show the audit trail, export it, verify it."),
    Lazy("migrate", "blueprints.commands.migrate:migrate", "Bring the database up to date, after a backup."),
    Lazy("backup", "blueprints.backups.commands:backup", "Write the instance to one file, while it serves."),
    Lazy("restore", "blueprints.backups.commands:restore_",
         "Make an instance of a backup, or prove that it can be done."),
    Lazy("move", "blueprints.commands.move:move", "Move all rows from SQLite to an empty Postgres database."),
    Lazy("compact", "blueprints.commands.compact:compact",
         "Give back room that deleted rows have left, and index words anew."),
    Lazy("plugin", "blueprints.commands.plugin.group:plugin", "Begin a plugin, and list those that are installed."),
    Lazy("doctor", "blueprints.commands.doctor:doctor", "Check what the service relies on."),
    Lazy("openapi", "blueprints.commands.server:openapi", "Print the OpenAPI description of the API."),
    Lazy("settings", "blueprints.commands.settings:settings", "Show every setting, its value and its meaning."),
]
