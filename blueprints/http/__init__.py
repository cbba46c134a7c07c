"""HTTP machinery, one module a stage. Start with `pipeline`: it tells the story of a request."""
