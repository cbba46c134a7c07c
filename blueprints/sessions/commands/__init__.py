"""`gatepost user | tenant | token`."""
