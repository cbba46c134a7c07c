"""One person's data: all that the instance holds of a person is exported (`exporting`), and erased (`erasing`), also in
a backup of before that is restored (`repeating`).

Persons ask for theirs by `GET /api/profile/export`; operators have `gatepost user export` and `gatepost user erase`.
"""
