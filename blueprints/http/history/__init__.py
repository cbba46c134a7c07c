"""What was in force, and what would have been: the ledger of policies (`ledger`) and how one is put in force
(`change`).

It imports `request` and the rooms below.
"""
