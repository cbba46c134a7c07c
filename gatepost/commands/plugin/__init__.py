"""`gatepost plugin …`: for those who write plugins, and those who install them; `group` puts the commands together."""
