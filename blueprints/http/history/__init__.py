"""What was in force, and what would have been: the ledger of policies (`ledger`), how one is put in force (`change`),
and what a change of it does to stored rows (`live_rows`).

It imports `request`, `reading` and the rooms below.
"""
