"""Measurements: `make bench` of the whole service, `make bench-pages` and `make bench-policy` of its parts."""
