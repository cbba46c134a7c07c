"""Changes of the policy over HTTP: tried first (`trial`, in a process of its own: `child`), then put in force.

`live_rows` counts the stored rows that a change affects.
"""

from gatepost.features import Command, Feature

feature = Feature(
    name="policy_changes", needs=("policy",), permissions=("policy.update",), settings=("policy_edit",),
    news="blueprints.policy_changes.commands.adopt:news",
    extends={"console": "blueprints.policy_changes.pages"},
    commands={
        "policy diff": Command("blueprints.policy_changes.commands.diff:diff_command",
                               "Show what a change of the rules changes, with an example of each."),
        "policy apply": Command("blueprints.policy_changes.commands.changing:apply_command",
                                "Put the policy files of a folder in force."),
        "policy log": Command("blueprints.policy_changes.commands.history:log_command",
                              "List the versions of the policy, and what each changed."),
        "policy show": Command("blueprints.policy_changes.commands.history:show_command",
                               "The files of a policy that was in force."),
        "policy revert": Command("blueprints.policy_changes.commands.changing:revert_command",
                                 "Put a policy in force that was so before."),
        "policy accept": Command("blueprints.policy_changes.commands.changing:accept_command",
                                 "Put the files in force that are there, though a rule file is gone."),
        "policy adopt": Command("blueprints.policy_changes.commands.adopt:adopt",
                                "Take over missing shipped files, or the lines of an upgrade."),
    })
