"""The service about itself: its front page, the OpenAPI documents, the documentation and numbers for Prometheus."""

from gatepost import Feature

feature = Feature(name="public", needs=("health",), settings=("docs", "metrics_token"))
