"""Logins beyond the password. Off with `without = ["accounts"]`.

`caller` tells rules about the login of a session: `r.sub.mfa` and `r.sub.auth_age`. Each way to log in notes in
`session.login` what rules may ask for. A session keeps both while it is refreshed: its row, and so `created_at` and
`login`, are those of the login. `second_factor` asks for a code of an app after the password. `single_sign_on` lets
users log in with an identity provider of the team, and `passkeys` without a password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatepost.features import Command, Feature
from gatepost.http.request.caller_attribute import CallerAttribute
from models.records.times import elapsed, now

if TYPE_CHECKING:
    from models.tables.session import Session

MFA = "mfa"  # the note of a login with a second factor, or with a passkey that verified its user


def has_second_factor(session: Session) -> bool:
    """True if the login of a session had a second factor."""
    return (session.login or {}).get(MFA) is True


def seconds_since_login(session: Session) -> int:
    """Returns the whole seconds since the login of a session; 0 after a clock was set back."""
    return max(0, int(elapsed(session.proved_at, now())))


feature = Feature(
    name="accounts", settings=("oidc", "rp_id"), permissions=("user.remove_second_factor",),
    extends={"console": "blueprints.accounts.pages"}, make="blueprints.accounts.single_sign_on.issuers:make",
    caller={
        MFA: CallerAttribute(bool, has_second_factor, True, lambda value: f'acr_values="{MFA}"'),
        "auth_age": CallerAttribute(int, seconds_since_login, 0, lambda seconds: f'max_age="{seconds}"', least=0),
    },
    next_step="blueprints.accounts.second_factor.login:next_step",
    bearer="blueprints.accounts.single_sign_on.resource:bearer",
    departure="blueprints.accounts.single_sign_on.resource:departure",
    facts="blueprints.accounts.facts:facts",
    drop_credentials="blueprints.accounts.credentials:drop",
    reencrypt="blueprints.accounts.second_factor.encryption:reencrypt",
    doctor={"second_factors": "blueprints.accounts.second_factor.checks:check",
            "single_sign_on": "blueprints.accounts.single_sign_on.checks:check",
            "passkeys": "blueprints.accounts.passkeys.checks:check"},
    left_out={"accounts": "blueprints.accounts.left_out:check"},
    commands={"user remove-second-factor": Command("blueprints.accounts.second_factor.commands:remove",
                                                   "Remove the second factor of a user who lost it."),
              "user remove-passkeys": Command("blueprints.accounts.passkeys.commands:remove",
                                              "Remove all passkeys of a user.")})
