"""*Running*: the `page`, whose numbers over time are `plots`."""
