"""Health of the service: `/api/health` for users and monitoring, `/api/health/live` for supervisors."""

from gatepost import Feature

feature = Feature(name="health", permissions=("health.view",))
