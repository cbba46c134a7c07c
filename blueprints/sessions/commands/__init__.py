"""The commands `gatepost user`, `gatepost tenant` and `gatepost token`."""
