"""AuthZEN 1.0 (OpenID Authorization API): programs beside Gatepost ask its rules, in the form that they know.

What is asked is `schemas`, about whom and what `questions`, and whom, what and which actions there are `search`.
"""

from gatepost import Feature

feature = Feature(name="authzen", needs=("policy", "access_review"), permissions=("policy.evaluate",))
