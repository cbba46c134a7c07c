"""Backups of an instance, and verified restores: `gatepost backup` and `gatepost restore`.

A backup is one archive (`archive`): a consistent copy of the database, the keys, the policies and the settings file. It
is taken while the instance serves (`taking`), optionally on a schedule or by a request (`schedule`, `endpoints`), and
removed by `retention`.

A restore first unpacks everything into a scratch folder and compares it with the manifest (`staging`). `proof` also
starts the service there and logs in. Only then does `restoring` replace the instance. If the process is killed, the
journal (`gatepost.instance.journal`) ensures that either the old or the new instance remains.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="backups", make="blueprints.backups.schedule:make", background="blueprints.backups.schedule:tasks",
    permissions=("backup.create",), extends={"console": "blueprints.backups.pages"},
    settings=("backup_hours", "backup_folder", "backup_recipient", "backup_command", "backup_prove"),
    checks={"backups": "blueprints.backups.checks:check"}, doctor={"backups": "blueprints.backups.checks:thorough"},
    numbers="blueprints.backups.checks:numbers", save="blueprints.backups.saving:save",
    commands={
        "backup": Command("blueprints.backups.commands:backup",
                          "Write the instance to one file while the service runs."),
        "restore": Command("blueprints.backups.commands:restore_",
                           "Restore an instance from a backup, or verify the backup."),
    })
