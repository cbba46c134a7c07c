"""Pages about users: all of them, also by role (`listed`), and one (`person`)."""
