"""Pages about people: all of them, also by role (`listed`), and one `person`."""
