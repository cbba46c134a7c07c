"""The current policy: its sources (`stored` in the database, `exported` as files), changes of it (`change`), the policy
history (`history`), the use of rules (`line_uses`), permissions of removed plugins (`left_over`), and the fields that
answers about rules must hide (`redaction`).
"""
