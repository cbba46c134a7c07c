"""Who may do this: the plan folded the other way round. The object is known, or any will do; the caller stays open, and
what is left of the rules is a condition on users (`conditions`), with the line that lets one of them in (`lines`).
"""
