"""How many rows, logins and refusals there are: `/api/admin/stats`."""
