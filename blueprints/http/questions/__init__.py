"""What is asked about the rules, over HTTP and by commands: `circumstances` are those of a request that is only asked
about, `predicted` is what it would be answered, and `past` what one was answered; `persons` and `names` are whom it is
about, and `untold` what the asker may not be told.

May import `resources` and the rooms below it.
"""
