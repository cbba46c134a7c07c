"""Whether the service can do its work: `/api/health` for people and monitors, `/api/health/live` for supervisors."""
