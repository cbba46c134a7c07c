"""Pages of the console: a login with a passkey (`passkey_login`), and the passkeys of an account (`passkeys`)."""

from .passkey_login import routes as passkey_login_pages
from .passkeys import routes as passkey_pages

__all__ = ["passkey_login_pages", "passkey_pages"]
