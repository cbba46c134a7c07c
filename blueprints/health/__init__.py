"""Health of the service: `/api/health` for people and monitors, `/api/health/live` for supervisors."""

from gatepost import Feature

feature = Feature(name="health", permissions=("health.view",))
