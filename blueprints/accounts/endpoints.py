"""Endpoints of accounts."""

from .single_sign_on.endpoints import calls_of_providers
from .single_sign_on.endpoints import routes as identities

__all__ = ["calls_of_providers", "identities"]
