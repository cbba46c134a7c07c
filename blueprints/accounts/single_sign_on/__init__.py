"""Logins with an identity provider of the team: OpenID Connect, code flow with PKCE. Off until `oidc` is set.

`connection` sends requests to a provider. `issuers` keeps what its discovery document and its keys say, and `tokens`
checks what it signed. `flow` is a login on its way: the cookie, and the URL that the browser is sent to. `identities`
connects an identity to a user, and opens the session; `groups` are those that the provider names. `resource` accepts
access tokens of a provider for the API. `checks` is for `gatepost doctor`.
"""
