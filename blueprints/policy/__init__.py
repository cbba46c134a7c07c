"""Questions about the rules, over HTTP and by commands: what they say, why something is allowed or refused.

`circumstances` are those of a request that is only asked about, `predicted` is what it would be answered, and `past`
what one was answered; `persons` and `names` are whom it is about, and `untold` is what the caller may not be told.
"""

from gatepost import Feature

feature = Feature(name="policy", outdated="gatepost.commands.policy_files:outdated")
