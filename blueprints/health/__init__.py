"""Whether the service can do its work: `/api/health` for people and monitors, `/api/health/live` for supervisors."""

from gatepost import Feature

feature = Feature(name="health", permissions=("health.view",))
