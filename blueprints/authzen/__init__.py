"""AuthZEN 1.0 (OpenID Authorization API): lets other programs evaluate Gatepost's rules with a standard protocol.

`schemas` describes requests and answers, `questions` evaluates one request, and `search` lists subjects, resources and
actions.
"""

from gatepost import Feature

feature = Feature(name="authzen", needs=("policy", "access_review"), permissions=("policy.evaluate",))
