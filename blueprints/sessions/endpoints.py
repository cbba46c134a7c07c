"""What is served: logging in and out, the own profile, open sessions, and service tokens."""

from .login import routes
from .sessions import Sessions
from .tokens import Tokens

__all__ = ["Sessions", "Tokens", "routes"]
