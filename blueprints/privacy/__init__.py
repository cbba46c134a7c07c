"""Privacy: export of all data about a user (`exporting`), and erasure by command.

Users export their own data with `GET /api/profile/export`. Operators use `gatepost user export` and `gatepost user
erase`.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="privacy", permissions=("profile.export",), extends={"console": "blueprints.privacy.pages"},
    commands={
        "user export": Command("blueprints.privacy.commands:export_person", "Write everything about a user to a file."),
        "user erase": Command("blueprints.privacy.commands:erase_person", "Erase a user, for good."),
        "user erasures": Command("blueprints.privacy.commands:list_erasures",
                                  "Write the erased users to FILE, for a new instance."),
    })
