"""`gatepost plugin …`: commands for authors and operators of plugins; `group` puts them together."""
