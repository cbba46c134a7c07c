"""Questions about the rules, over HTTP and by commands: what they say, why something is allowed or refused.

`circumstances` are those of a request that is only asked about, `predicted` is what it would be answered, `past` what
one was answered, and `persons` are whom a question is about.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="policy", permissions=("policy.view",),
    extends={"console": "blueprints.policy.pages", "audit": "blueprints.policy.recorded"},
    commands={
        "policy": Command("blueprints.policy.commands.group:policy",
                          "Check, explain, test and compare the access rules."),
        "policy explain": Command("blueprints.policy.commands.explain:explain_command",
                                  "Why is this user or role allowed or refused it?"),
        "policy matrix": Command("blueprints.policy.commands.matrix:matrix_command",
                                 "Who may do what? A table, or a page."),
        "policy check": Command("blueprints.policy.commands.check:check",
                                "Can the policy files be used, and do they mean what they seem to?"),
        "policy test": Command("blueprints.policy.commands.cases:test_command",
                               "Do the rules answer the cases of tests.yaml as they should?"),
        "policy export": Command("blueprints.policy.commands.export:export_command",
                                 "Print the rules for the Casbin editor."),
    })
