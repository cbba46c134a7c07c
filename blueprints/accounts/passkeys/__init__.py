"""Passkeys (WebAuthn level 2): a login on the console without a password. Off until `rp_id` and `public_url` are set.

`configured` says whether they are on, `challenges` makes and uses challenges, and `ceremonies` talks to the library.
`accounts.pages` has the login and *Passkeys* of the account. `checks` is for `gatepost doctor`, and `commands` removes
passkeys.
"""
