"""People: `listed` with their roles, one `person`, `who` may do something, a `review`, and what is `unused`."""
