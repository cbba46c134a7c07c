"""Who may do what today: `who` may do something, who is given which role (`review`), what somebody may see (`visible`),
and which lines nobody uses (`unused`).

`holders` are those who may, as a condition on users and the line that lets each of them in.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="access_review", needs=("policy",),
    extends={"console": "blueprints.access_review.pages", "audit": "blueprints.access_review.review"},
    commands={
        "policy who": Command("blueprints.access_review.commands.who:who_command",
                              "Who may do this, to an object or to any, and by which line?"),
        "policy unused": Command("blueprints.access_review.commands.unused:unused_command",
                                 "Which lines and permissions does nobody use?"),
        "policy review": Command("blueprints.access_review.commands.review:review_command",
                                 "Who has which role, how did they get it, and do they use it?"),
    })
