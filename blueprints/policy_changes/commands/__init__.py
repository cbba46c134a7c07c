"""`gatepost policy apply | revert | accept | log | show | diff | adopt`."""
