"""Warnings about rules that are probably mistakes: each module finds one kind, by exact comparison.

A policy with warnings is used. `warnings` collects the findings of the other modules.
"""
