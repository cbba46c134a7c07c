"""Numbers of rows, logins and refusals: `/api/admin/stats`."""

from gatepost import Feature

feature = Feature(name="stats", permissions=("stats.view",))
