"""Mail to users, through an SMTP server of the team. It is off until `smtp_url`, `mail_from` and `public_url` are set.

A user asks for a link to choose a password, or an administrator sends one (`endpoints`, `pages`). A user verifies their
address by a link (`verifications`). Users are told about changes of their account (`notices`). A job sends each message
(`jobs`): `letters` has the texts, and `smtp` talks to the server. `checks` is for `gatepost doctor`.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="mail", needs=("password_links",), extends={"console": "blueprints.mail.pages"},
    settings=("smtp_url", "mail_from", "mail_notices"),
    around="blueprints.mail.notices:around", doctor={"mail": "blueprints.mail.checks:check"},
    commands={"mail": Command("blueprints.mail.commands:mail", "Test the mail server.")})
