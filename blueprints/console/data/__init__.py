"""The rows of every collection: `listed`, one `item`, and `forms` over them.

`fields` says how each field is drawn and asked for, `words` what it is called, `seen` what somebody else may see.
"""
