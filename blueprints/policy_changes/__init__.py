"""Changes of the policy over HTTP: tried first (`trial`, in a process of its own: `child`), then put in force.

`affected_rows` counts the stored rows that a change affects. `adoption` takes over shipped rules.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="policy_changes", needs=("policy",), permissions=("policy.update",), settings=("policy_edit",),
    news="blueprints.policy_changes.adoption:news",
    extends={"console": "blueprints.policy_changes.pages"},
    commands={
        "policy diff": Command("blueprints.policy_changes.commands:diff_command",
                               "Show the effects of a change of the rules, with examples."),
        "policy apply": Command("blueprints.policy_changes.commands:apply_command",
                                "Apply the policy files of a folder."),
        "policy log": Command("blueprints.policy_changes.commands:log_command",
                              "List the policy versions, and their changes."),
        "policy show": Command("blueprints.policy_changes.commands:show_command",
                               "Show the files of a policy version."),
        "policy revert": Command("blueprints.policy_changes.commands:revert_command",
                                 "Apply an earlier policy version again."),
        "policy accept": Command("blueprints.policy_changes.commands:accept_command",
                                 "Accept the files as they are, although a rule file is missing."),
        "policy adopt": Command("blueprints.policy_changes.adoption:adopt",
                                "Add missing shipped files, or the new rules of an upgrade."),
    })
