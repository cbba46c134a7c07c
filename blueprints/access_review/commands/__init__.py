"""`gatepost policy who | review | unused`."""
