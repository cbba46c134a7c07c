"""What hardly means what its author meant: each module finds one kind of such lines, on the exact comparison.

Every finding here is a warning: the policy is used. `warnings` puts them together.
"""
