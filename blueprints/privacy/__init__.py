"""One person's data: all that the instance holds of a person is exported (`exporting`), and erased by command.

Persons ask for theirs by `GET /api/profile/export`; operators have `gatepost user export` and `gatepost user erase`.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="privacy", permissions=("profile.export",),
    commands={
        "user export": Command("blueprints.privacy.commands:export_person", "Write everything about a user to a file."),
        "user erase": Command("blueprints.privacy.commands:erase_person", "Erase a user, for good."),
        "user erasures": Command("blueprints.privacy.commands:list_erasures",
                                  "Write whom was erased to FILE, for a restore into a new instance."),
    })
