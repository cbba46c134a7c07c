"""Changes of the rules: tried and put in force (`trying`), looked up (`history`), undone (`reverting`).

`drafts` are files while they are edited, `outcome` is what a change does, `differing` how texts differ.
"""
