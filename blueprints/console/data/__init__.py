"""The rows of every collection: `listed`, one `item`, `forms` over them, `several` at once, and `files`.

`fields` shows each field, `entries` and `lookups` make the controls of forms, `words` has the titles, and `seen` shows
the view of another user.
"""
