"""`gatepost import` and `gatepost export`: rows of a collection from a file and into one."""
