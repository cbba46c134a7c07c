"""Endpoints of accounts."""

from .single_sign_on.endpoints import routes as single_sign_on

__all__ = ["single_sign_on"]
