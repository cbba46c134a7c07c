"""Who is logged in: `login`, refresh and logout, open `sessions`, and service `tokens`; `commands` manage accounts."""
