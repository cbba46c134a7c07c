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
                               "Show what a change of the rules changes, with an example of each."),
        "policy apply": Command("blueprints.policy_changes.commands:apply_command",
                                "Put the policy files of a folder in force."),
        "policy log": Command("blueprints.policy_changes.commands:log_command",
                              "List the versions of the policy, and what each changed."),
        "policy show": Command("blueprints.policy_changes.commands:show_command",
                               "The files of a policy that was in force."),
        "policy revert": Command("blueprints.policy_changes.commands:revert_command",
                                 "Put a policy in force that was so before."),
        "policy accept": Command("blueprints.policy_changes.commands:accept_command",
                                 "Put the files in force that are there, though a rule file is gone."),
        "policy adopt": Command("blueprints.policy_changes.adoption:adopt",
                                "Take over missing shipped files, or the lines of an upgrade."),
    })
