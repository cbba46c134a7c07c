"""The policy in force: where it comes from (`stored` in the database, `exported` as files), how one is put in force
(`change`), every one that was (`ledger`), which lines are used (`line_uses`), what plugins left (`left_over`), and what
an answer about rules must not tell its caller (`redaction`).
"""
