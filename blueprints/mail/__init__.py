"""Mail to users, through an SMTP server of the team. It is off until `smtp_url`, `mail_from` and `public_url` are set.

`letters` has the texts, `smtp` sends a message, and `checks` looks at the server for `gatepost doctor`.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="mail", settings=("smtp_url", "mail_from"), doctor={"mail": "blueprints.mail.checks:check"},
    commands={"mail": Command("blueprints.mail.commands:mail", "Test the mail server.")})
