"""Invented rows, to look at the service with: `gatepost demo`."""
