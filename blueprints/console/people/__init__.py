"""People: `listed` with their roles, one `person`, and `who` may do something."""
