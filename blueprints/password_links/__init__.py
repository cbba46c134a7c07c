"""One-time links with which a user chooses a password: after it was forgotten, or for a new account without one.

`links` makes and uses them. A user with the permission creates one (`endpoints`), or an operator (`commands`), and
passes it on. It opens a page of the console (`pages`); a program sends its token to the API. It starts no session.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="password_links", permissions=("user.create_password_link",), settings=("password_link_hours",),
    extends={"console": "blueprints.password_links.pages"},
    commands={"user link": Command("blueprints.password_links.commands:link",
                                   "Make a link with which a user chooses a password.")})
