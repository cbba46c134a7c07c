"""The rows of every collection: `listed`, one `item`, `forms` over them, `several` at once, and `files`.

`fields` shows and reads each field, `words` has the titles, `seen` shows the view of another user.
"""
