"""Access review: who may do something (`who`), roles of users (`review`), rows visible to a user or role (`visible`),
and unused rules (`unused`).

`holders` computes who may do something, as a condition on users, and the rule that allows each of them.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="access_review", needs=("policy",),
    extends={"console": "blueprints.access_review.pages", "audit": "blueprints.access_review.review"},
    commands={
        "policy who": Command("blueprints.access_review.commands:who_command",
                              "List the users who may do something, and the rule that allows each."),
        "policy unused": Command("blueprints.access_review.commands:unused_command",
                                 "List the rules and permissions that nobody uses."),
        "policy review": Command("blueprints.access_review.commands:review_command",
                                 "Show who has which role, how they got it, and when they last used it."),
    })
