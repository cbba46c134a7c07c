"""A second factor: codes of an app on the user's phone (TOTP, RFC 6238), and recovery codes.

`endpoints` sets it up, removes it, and completes a login; `accounts.pages` does so on the console. `login` asks for the
code after the password. `factors` checks and uses codes, `totp` computes them, and `encryption` protects their secrets.
`commands` removes a factor, and `checks` is for `gatepost doctor`.
"""
