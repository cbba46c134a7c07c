"""How a caller proves to know a password: `sessions` are logins, `console_sessions` are those of the console;
`step_up` asks for the password once more before a sensitive change, and `guessing` counts wrong ones.

May import `request` and the rooms below it.
"""
