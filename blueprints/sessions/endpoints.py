"""Endpoints: login and logout, the caller's profile, open sessions, and service tokens."""

from .login import routes
from .sessions import Sessions
from .tokens import Tokens

__all__ = ["Sessions", "Tokens", "routes"]
