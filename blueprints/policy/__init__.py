"""Questions about the rules, over HTTP and by commands: what they allow, and why a request is allowed or refused.

`circumstances` describes a hypothetical request, `predicted` its answer, `past` the answer of a recorded request, and
`persons` looks up the users in a question.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="policy", permissions=("policy.view",),
    extends={"console": "blueprints.policy.pages", "audit": "blueprints.policy.recorded"},
    commands={
        "policy": Command("blueprints.policy.commands.group:policy",
                          "Check, explain, test and compare the access rules."),
        "policy explain": Command("blueprints.policy.commands.explain:explain_command",
                                  "Explain why a user or role is allowed or refused a permission."),
        "policy matrix": Command("blueprints.policy.commands.formats:matrix_command",
                                 "Show who may do what, as a table or a page."),
        "policy check": Command("blueprints.policy.commands.check:check",
                                "Check the policy files for errors and likely mistakes."),
        "policy test": Command("blueprints.policy.commands.cases:test_command",
                               "Run the cases of tests.yaml against the rules."),
        "policy export": Command("blueprints.policy.commands.formats:export_command",
                                 "Print the rules for the Casbin editor."),
    })
