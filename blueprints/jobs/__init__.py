"""Jobs, as whoever asked for them sees them (`endpoints`), for operators (`commands`), and `gatepost worker`.

`gatepost.jobs` runs them.
"""
