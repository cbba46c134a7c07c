"""Pages about users: all of them, also by role (`listed`), one (`person`), a `new` one, and the caller (`account`)."""
