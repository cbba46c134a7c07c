"""People: `listed` with their roles, one `person`, `who` may do something, and what is `unused`."""
