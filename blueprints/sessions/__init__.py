"""Logins: `login`, refresh and logout, open `sessions`, and service `tokens`; `commands` manage accounts."""

from gatepost.features import Command, Feature

feature = Feature(name="sessions", commands={
    "user": Command("blueprints.sessions.commands:user",
                    "Add users, set passwords, disable and enable accounts."),
    "tenant": Command("blueprints.sessions.commands:tenant",
                      "Add tenants: groups of users who do not see one another's rows."),
    "token": Command("blueprints.sessions.commands:token", "Give programs tokens that act for a user."),
})
