"""How many rows, logins and refusals there are: `/api/admin/stats`."""

from gatepost import Feature

feature = Feature(name="stats", permissions=("stats.view",))
