"""Password checks: `sessions` are logins, and `console_sessions` are those of the console.

`step_up` asks for the password again before a sensitive change. `guessing` counts wrong passwords. The folder may
import `request` and the folders below it.
"""
