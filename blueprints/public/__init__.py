"""Public pages: the front page, the OpenAPI documents, the documentation, and metrics for Prometheus."""

from gatepost import Feature

feature = Feature(name="public", needs=("health",), settings=("docs", "metrics_token"))
