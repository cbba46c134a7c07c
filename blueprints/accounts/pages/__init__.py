"""Pages of the console: logins with a provider (`provider_login`), and the identities of an account (`identities`).

`passkey_login` is a login with a passkey, and `passkeys` are those of an account. `second_factor` are codes of an app.
"""

from .identities import routes as identity_pages
from .passkey_login import routes as passkey_login_pages
from .passkeys import routes as passkey_pages
from .provider_login import routes as provider_login_pages
from .second_factor.login import routes as login_pages
from .second_factor.of_user import routes as second_factor_of_user_pages
from .second_factor.own import routes as second_factor_pages

__all__ = ["identity_pages", "login_pages", "passkey_login_pages", "passkey_pages", "provider_login_pages",
           "second_factor_of_user_pages", "second_factor_pages"]
