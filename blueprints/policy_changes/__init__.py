"""A change of the policy over HTTP: tried first (`trial`, in a process of its own: `child`), then put in force.

`live_rows` says what a change does to the rows that are stored.
"""

from gatepost import Feature

feature = Feature(name="policy_changes", news="blueprints.policy_changes.commands.adopt:news")
