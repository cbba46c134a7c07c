"""Pages of the console: logins with a provider (`provider_login`), and the identities of an account (`identities`)."""

from .identities import routes as identity_pages
from .provider_login import routes as provider_login_pages

__all__ = ["identity_pages", "provider_login_pages"]
