"""Backups of an instance, and restores that are proved: `gatepost backup` and `gatepost restore`.

A backup is one archive (`archive`): a consistent copy of the database, the keys, the policies and the settings file. It
is taken while the instance serves (`taking`), on a schedule where one is set (`schedule`), and kept for as long as
`retention` says. A restore first puts everything into a scratch place and compares it with what the archive says of
itself (`staging`); `proof` also starts it and logs in. Only then is it put in the place of what is there (`restoring`),
under a journal by which a process that is killed leaves the old instance or the new one (`gatepost.instance.journal`).
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="backups", background="blueprints.backups.schedule:tasks",
    settings=("backup_hours", "backup_folder", "backup_recipient", "backup_command", "backup_prove"),
    checks={"backups": "blueprints.backups.checks:check"}, doctor={"backups": "blueprints.backups.checks:thorough"},
    numbers="blueprints.backups.checks:numbers", save="blueprints.backups.saving:save",
    commands={
        "backup": Command("blueprints.backups.commands:backup", "Write the instance to one file, while it serves."),
        "restore": Command("blueprints.backups.commands:restore_",
                           "Make an instance of a backup, or prove that it can be done."),
    })
