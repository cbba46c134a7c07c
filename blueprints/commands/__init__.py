"""The `gatepost` commands, one module a group. `app.cli` puts them together.

Commands that need the app get its factory as the context's object, because imports run from `app` to here:
`click.Group("gatepost", commands=commands, context_settings={"obj": create_app})`.
"""

from __future__ import annotations

import click

from blueprints.commands.accounts import tenant, user
from blueprints.commands.audit import audit
from blueprints.commands.backup import backup, restore_
from blueprints.commands.compact import compact
from blueprints.commands.data import demo
from blueprints.commands.doctor import doctor
from blueprints.commands.jobs import jobs
from blueprints.commands.keys import keys
from blueprints.commands.migrate import migrate
from blueprints.commands.persons import erase_person, export_person, list_erasures
from blueprints.commands.plugin.group import plugin
from blueprints.commands.policy.group import policy as policy_group
from blueprints.commands.server import init, openapi, serve
from blueprints.commands.settings import settings
from blueprints.commands.tokens import token
from blueprints.commands.transfer import export, import_
from blueprints.commands.worker import worker

for one in (export_person, erase_person, list_erasures):
    user.add_command(one)

commands: list[click.Command] = [
    init, serve, worker, demo, import_, export, user, tenant, token, jobs, policy_group, keys, audit, migrate, backup,
    restore_, compact,
    plugin, doctor, openapi, settings,
]
