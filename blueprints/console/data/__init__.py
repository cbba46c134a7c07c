"""The rows of every collection: `listed`, one `item`, and `forms` over them.

`fields` shows and reads each field, `words` has the titles, `seen` shows the view of another user.
"""
