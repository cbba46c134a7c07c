"""The service about itself: its front page, the OpenAPI documents, the documentation and numbers for Prometheus."""
